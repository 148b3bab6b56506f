#include "cli/words.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "study/options.h"
#include "support/count.h"
#include "support/memory.h"

enum { LIST_MAX = 65536, SHOWN_MAX = 80 };

/* Of a long text the beginning is shown. */
static int shown(const char *text, const char *end)
{
    return end - text < SHOWN_MAX ? (int)(end - text) : SHOWN_MAX;
}

static bool number(const char *option, const char *text, const char *end, uint64_t min,
                   uint64_t max, uint64_t *value, struct error *err)
{
    if (count_parse(text, end, value) && *value >= min && *value <= max)
        return true;
    return error_set(err, ERROR_USAGE,
                     "--%s: '%.*s' is not allowed (allowed: %" PRIu64 " to %" PRIu64
                     ", with K, M or G for 1024, 1024^2, 1024^3)",
                     option, shown(text, end), text, min, max);
}

bool words_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *value,
                  struct error *err)
{
    return number(option, text, text + strlen(text), min, max, value, err);
}

bool words_choice(const char *option, const char *text, const char *const *words, int *index,
                  struct error *err)
{
    char all[256] = "";
    for (*index = 0; words[*index] != NULL; ++*index) {
        if (strcmp(words[*index], text) == 0)
            return true;
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "", words[*index]);
    }
    return error_set(err, ERROR_USAGE, "--%s: '%.80s' is not allowed (allowed: %s)", option, text,
                     all);
}

static bool append(const char *option, uint64_t value, uint64_t **list, uint32_t *count,
                   struct error *err)
{
    if (*count == LIST_MAX)
        return error_set(err, ERROR_USAGE, "--%s: more than %d values", option, LIST_MAX);
    if ((*count & (*count - 1)) == 0)
        *list = memory_resize(*list, *count ? 2 * (size_t)*count : 1, sizeof **list);
    (*list)[(*count)++] = value;
    return true;
}

/* "A..B": A, 2A, 4A ... up to B. */
static bool append_range(const char *option, const char *text, const char *dots, const char *end,
                         uint64_t **list, uint32_t *count, struct error *err)
{
    uint64_t first, last;
    if (!number(option, text, dots, 1, STUDY_CONTEXT_MAX, &first, err) ||
        !number(option, dots + 2, end, 1, STUDY_CONTEXT_MAX, &last, err))
        return false;
    if (first > last)
        return error_set(err, ERROR_USAGE, "--%s: '%.*s' runs backwards", option, shown(text, end),
                         text);
    for (; first <= last; first *= 2)
        if (!append(option, first, list, count, err))
            return false;
    return true;
}

/* What stands between two lengths in a range as others write it, "8K-64K", "8K:64K" or "8K...64K";
 * its end in `last`. NULL when it is none. */
static const char *foreign_range(const char *text, const char *end, const char **last)
{
    uint64_t value;
    const char *first_end = text + strcspn(text, "-:.");
    *last = first_end + strspn(first_end, "-:.");
    bool point = *last == first_end + 1 && *first_end == '.';
    bool range = *last < end && !point && count_parse(text, first_end, &value);
    return range && count_parse(*last, end, &value) ? first_end : NULL;
}

static bool one_context(const char *option, const char *text, const char *end, uint64_t *value,
                        struct error *err)
{
    const char *last, *first_end = foreign_range(text, end, &last);
    if (first_end != NULL)
        return error_set(err, ERROR_USAGE, "--%s: '%.*s' is not allowed (did you mean %.*s..%.*s?)",
                         option, shown(text, end), text, shown(text, first_end), text,
                         shown(last, end), last);
    return number(option, text, end, 1, STUDY_CONTEXT_MAX, value, err);
}

bool words_contexts(const char *option, const char *text, uint64_t **list, uint32_t *count,
                    struct error *err)
{
    memory_free(*list);
    *list = NULL;
    *count = 0;
    for (const char *end;; text = end + 1) {
        end = strchrnul(text, ',');
        const char *dots = strstr(text, "..");
        uint64_t value = 0;
        if (dots != NULL && dots < end && dots[2] != '.') {
            if (!append_range(option, text, dots, end, list, count, err))
                return false;
        } else if (!one_context(option, text, end, &value, err) ||
                   !append(option, value, list, count, err)) {
            return false;
        }
        if (*end == '\0')
            return true;
    }
}
