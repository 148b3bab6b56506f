#include "study/requests.h"

#include <inttypes.h>
#include <string.h>

#include "support/count.h"
#include "support/input.h"
#include "support/memory.h"

enum { SHOWN_BYTES = 60 };

struct list {
    const char *label;
    uint64_t *lengths;
    uint32_t count;
    uint64_t line; /* the one that is read, from 1 */
    struct error *err;
};

/* Of a long line the beginning is shown. */
static bool refuse(const struct list *list, const char *word, const char *end)
{
    bool cut = end - word > SHOWN_BYTES;
    return error_set(list->err, ERROR_USAGE,
                     "--requests: %.200s:%" PRIu64
                     ": '%.*s%s' is not allowed (allowed: one length per line, 1 to %" PRIu64
                     ", with K, M or G for 1024, 1024^2, 1024^3; # begins a comment)",
                     list->label, list->line, cut ? SHOWN_BYTES : (int)(end - word), word,
                     cut ? "..." : "", STUDY_CONTEXT_MAX);
}

static bool append(struct list *list, uint64_t length)
{
    if (list->count == STUDY_BATCH_MAX)
        return error_set(list->err, ERROR_USAGE,
                         "--requests: %.200s:%" PRIu64 ": more than %d requests", list->label,
                         list->line, STUDY_BATCH_MAX);
    if ((list->count & (list->count - 1)) == 0)
        list->lengths =
            memory_resize(list->lengths, list->count ? 2 * (size_t)list->count : 1, sizeof length);
    list->lengths[list->count++] = length;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* One line, up to its end or its comment. */
static bool read_line(struct list *list, const char *line, const char *end)
{
    uint64_t length;
    if (memchr(line, '\0', (size_t)(end - line)) != NULL)
        return error_set(list->err, ERROR_USAGE,
                         "--requests: %.200s:%" PRIu64 ": a NUL byte: this is no text", list->label,
                         list->line);
    const char *comment = memchr(line, '#', (size_t)(end - line));
    end = comment != NULL ? comment : end;
    while (line != end && is_blank(*line))
        line++;
    while (line != end && is_blank(end[-1]))
        end--;
    if (line == end)
        return true;
    if (count_parse(line, end, &length) && length >= 1 && length <= STUDY_CONTEXT_MAX)
        return append(list, length);
    return refuse(list, line, end);
}

bool requests_parse(const char *label, const char *text, size_t bytes, uint64_t **lengths,
                    uint32_t *count, struct error *err)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct list list = {.label = label, .err = err};
    const char *end = text + bytes;
    text += bytes >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    for (bool good = true; good && text != end; text += text != end) {
        const char *line = text, *feed = memchr(text, '\n', (size_t)(end - text));
        text = feed != NULL ? feed : end;
        list.line++;
        good = read_line(&list, line, text);
    }
    if (err->code == ERROR_NONE && list.count == 0)
        error_set(err, ERROR_USAGE, "--requests: %.200s: has no lengths (one per line)", label);
    if (err->code != ERROR_NONE) {
        memory_free(list.lengths);
        return false;
    }
    *lengths = list.lengths;
    *count = list.count;
    return true;
}

static void adopt(struct study_options *options, uint64_t *lengths, uint32_t count)
{
    memory_free(options->request_contexts);
    options->request_contexts = lengths;
    options->batch = count;
    options->contexts_count = 1;
    options->contexts[0] = 0;
    for (uint32_t i = 0; i < count; i++)
        if (lengths[i] > options->contexts[0])
            options->contexts[0] = lengths[i];
}

bool requests_read(const char *path, struct study_options *options, struct error *err)
{
    char *text;
    size_t bytes;
    uint64_t *lengths;
    uint32_t count;
    if (!input_read(path, REQUESTS_FILE_BYTES, &text, &bytes, err))
        return error_context(err, "--requests: %.200s", path);
    bool good = requests_parse(path, text, bytes, &lengths, &count, err);
    memory_free(text);
    if (good)
        adopt(options, lengths, count);
    return good;
}

void requests_broadcast(const struct comm *comm, struct study_options *options)
{
    uint32_t count = options->batch;
    comm_broadcast(comm, &count, sizeof count);
    uint64_t *lengths = memory_new(count, sizeof *lengths);
    if (comm->rank == 0)
        memcpy(lengths, options->request_contexts, count * sizeof *lengths);
    comm_broadcast(comm, lengths, count * sizeof *lengths);
    adopt(options, lengths, count);
}
