#include "cli/words.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/memory.h"

#define CONTEXT_MAX (UINT64_C(1) << 36)
enum { LIST_MAX = 65536, SHOWN_MAX = 80 };

static bool parse(const char *text, const char *end, uint64_t *value)
{
    *value = 0;
    if (text == end || !isdigit((unsigned char)*text))
        return false;
    for (; text != end && isdigit((unsigned char)*text); text++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*text - '0'), value))
            return false;
    if (text == end)
        return true;
    static const char suffixes[] = "KMG";
    const char *suffix = strchr(suffixes, toupper((unsigned char)*text));
    if (suffix == NULL || text + 1 != end)
        return false;
    return !__builtin_mul_overflow(*value, UINT64_C(1) << (10 * (suffix - suffixes + 1)), value);
}

/* Of a long text the beginning is shown. */
static int shown(const char *text, const char *end)
{
    return end - text < SHOWN_MAX ? (int)(end - text) : SHOWN_MAX;
}

static bool number(const char *option, const char *text, const char *end, uint64_t min,
                   uint64_t max, uint64_t *value, struct error *err)
{
    if (parse(text, end, value) && *value >= min && *value <= max)
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
    if (!number(option, text, dots, 1, CONTEXT_MAX, &first, err) ||
        !number(option, dots + 2, end, 1, CONTEXT_MAX, &last, err))
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
    bool range = *last < end && !point && parse(text, first_end, &value);
    return range && parse(*last, end, &value) ? first_end : NULL;
}

static bool one_context(const char *option, const char *text, const char *end, uint64_t *value,
                        struct error *err)
{
    const char *last, *first_end = foreign_range(text, end, &last);
    if (first_end != NULL)
        return error_set(err, ERROR_USAGE, "--%s: '%.*s' is not allowed (did you mean %.*s..%.*s?)",
                         option, shown(text, end), text, shown(text, first_end), text,
                         shown(last, end), last);
    return number(option, text, end, 1, CONTEXT_MAX, value, err);
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

/* The word of a line, or NULL when the line has none. */
static char *word_of(char *line)
{
    line += strspn(line, " \t\r\n");
    line[strcspn(line, " \t\r\n")] = '\0';
    return *line == '\0' || *line == '#' ? NULL : line;
}

bool words_requests(const char *option, const char *path, uint64_t **list, uint32_t *count,
                    struct error *err)
{
    char line[256];
    uint64_t value;
    FILE *file = fopen(path, "r");
    memory_free(*list);
    *list = NULL;
    *count = 0;
    if (file == NULL)
        return error_set(err, ERROR_USAGE, "--%s: cannot read '%.200s': %s", option, path,
                         strerror(errno));
    while (err->code == ERROR_NONE && fgets(line, sizeof line, file) != NULL) {
        char *word = word_of(line);
        if (word != NULL && words_number(option, word, 1, CONTEXT_MAX, &value, err))
            append(option, value, list, count, err);
    }
    fclose(file);
    if (err->code == ERROR_NONE && *count == 0)
        error_set(err, ERROR_USAGE, "--%s: '%.200s' has no lengths", option, path);
    return err->code == ERROR_NONE;
}
