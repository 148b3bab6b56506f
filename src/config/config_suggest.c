/* "Did you mean": the key or group with the least edit distance. */
#include "config/config_schema.h"

#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (one character put in, left out, replaced, or two neighbours swapped) that turn `a` into
 * `b`, texts shorter than CONFIG_KEY_BYTES. */
static size_t distance(const char *a, const char *b)
{
    size_t table[CONFIG_KEY_BYTES][CONFIG_KEY_BYTES], rows = strlen(a), columns = strlen(b);
    for (size_t i = 0; i <= rows; i++)
        table[i][0] = i;
    for (size_t j = 1; j <= columns; j++)
        table[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            size_t edits = least(table[i - 1][j], table[i][j - 1]) + 1;
            edits = least(edits, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                edits = least(edits, table[i - 2][j - 2] + 1);
            table[i][j] = edits;
        }
    }
    return table[rows][columns];
}

/* Keeps `candidate` in `out` when it is closer than `*best`. */
static void consider(const char *key, const char *candidate, size_t *best, char *out)
{
    size_t apart = distance(key, candidate);
    if (apart < *best) {
        *best = apart;
        strcpy(out, candidate);
    }
}

/* With a dot only keys are candidates, without one only groups and keys outside them. */
const char *config_schema_suggest(const char *key, char *out)
{
    if (strlen(key) >= CONFIG_KEY_BYTES)
        return NULL;
    bool dotted = strchr(key, '.') != NULL;
    size_t limit = strlen(key) / 3 + 1, best = limit + 1;
    for (size_t i = 0; i < config_schema_size(); i++) {
        const struct key_row *row = config_schema_row(i);
        char candidate[CONFIG_KEY_BYTES];
        strcpy(candidate, row->key);
        if (!dotted && config_schema_group_length(row) > 0)
            candidate[config_schema_group_length(row)] = '\0';
        consider(key, candidate, &best, out);
    }
    return best <= limit ? out : NULL;
}
