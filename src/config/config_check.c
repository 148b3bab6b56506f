/* What no single key can tell: checks of keys against each other, and derived parameters. */
#include <string.h>

#include "config/config_internal.h"
#include "machine/part.h"

/* How likely the user meant this key: one of --set before one of a file before one that was left
 * alone; among these a value of the user's own before one that equals the default. */
static int guilt(const struct config *config, size_t index)
{
    const struct config_entry *entry = &config->entries[index];
    int origin = entry->label == NULL ? 0 : entry->line > 0 ? 1 : 2;
    return 2 * origin + (strcmp(entry->text, config_schema_row(index)->initial) != 0);
}

/* Blames the first of the most guilty `keys`. */
static bool clash(const struct config *config, struct error *err, const char *const *keys,
                  const char *message)
{
    size_t index, blamed = 0;
    int most = -1;
    for (const char *const *key = keys; *key != NULL; key++) {
        if (!config_schema_find(*key, &index))
            error_bug("a check names the unknown key %s", *key);
        if (guilt(config, index) > most) {
            most = guilt(config, index);
            blamed = index;
        }
    }
    const struct config_entry *entry = &config->entries[blamed];
    struct config_place place = {entry->label, entry->line};
    return config_fail(err, place, config_schema_row(blamed)->key, "'%s': %s", entry->text,
                       message);
}

bool config_finish(struct config *config, struct error *err)
{
    struct key_clash found;
    if (!machine_check(&config->params, &found))
        return clash(config, err, found.keys, found.message);
    uint64_t *issue = config->params.cpu.issue_ps;
    issue[OP_RECV_ASYNC] = issue[OP_RECV];
    config->finished = true;
    return true;
}
