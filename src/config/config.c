#include "config/config.h"

#include <assert.h>
#include <string.h>

#include "config/config_internal.h"
#include "config/config_value.h"
#include "support/memory.h"

struct config *config_new(void)
{
    struct config *config = memory_new(1, sizeof *config);
    config->entries = memory_new(config_schema_size(), sizeof *config->entries);
    struct error err = {0};
    for (size_t i = 0; i < config_schema_size(); i++) {
        const char *initial = config_schema_row(i)->initial;
        if (!config_assign(config, i, initial, (struct config_place){0}, &err))
            error_bug("the schema's default is not allowed: %s", err.text);
    }
    return config;
}

static void entry_clear(struct config_entry *entry)
{
    memory_free(entry->text);
    memory_free(entry->label);
    *entry = (struct config_entry){0};
}

void config_free(struct config *config)
{
    if (config == NULL)
        return;
    for (size_t i = 0; i < config_schema_size(); i++)
        entry_clear(&config->entries[i]);
    memory_free(config->entries);
    memory_free(config);
}

bool config_assign(struct config *config, size_t index, const char *text, struct config_place place,
                   struct error *err)
{
    const struct key_row *row = config_schema_row(index);
    struct config_entry *entry = &config->entries[index];
    struct config_value value;
    const char *problem = config_value_parse(row, text, &value);
    if (problem != NULL) {
        char quoted[CONFIG_QUOTE_BYTES], allowed[CONFIG_ALLOWED_BYTES];
        config_value_allowed(row, allowed);
        return config_fail(err, place, row->key, "%s %s (allowed: %s)", config_quote(text, quoted),
                           problem, allowed);
    }
    config_value_store(row, &value, &config->params);
    entry_clear(entry);
    entry->text = memory_copy_text(value.text);
    entry->label = place.label == NULL ? NULL : memory_copy_text(place.label);
    entry->line = place.line;
    config->finished = false;
    return true;
}

bool config_set(struct config *config, const char *assignment, struct error *err)
{
    const struct config_place place = {"--set", 0};
    const char *equals = strchr(assignment, '=');
    char quoted[CONFIG_QUOTE_BYTES];
    if (equals == NULL || equals == assignment)
        return config_fail(err, place, config_quote(assignment, quoted),
                           "KEY=VALUE is expected, such as hbm.bandwidth_gbps=1200");
    char *key = memory_copy_text(assignment);
    key[equals - assignment] = '\0';
    size_t index;
    bool done = config_schema_find(key, &index)
                    ? config_assign(config, index, equals + 1, place, err)
                    : config_fail_key(err, place, key);
    memory_free(key);
    return done;
}

bool config_load(struct config *config, const char *path, struct error *err)
{
    char *text;
    size_t bytes;
    if (!config_read(path, &text, &bytes, err))
        return false;
    bool loaded = config_load_text(config, path, text, bytes, err);
    memory_free(text);
    return loaded;
}

const struct machine_params *config_params(const struct config *config)
{
    assert(config->finished);
    return &config->params;
}

const char *config_name(const struct config *config)
{
    return config->entries[0].text;
}
