#include "config/config_schema.h"

#include <string.h>

#include "machine/part.h"

size_t config_schema_size(void)
{
    size_t count = 0;
    while (machine_key(count) != NULL)
        count++;
    return count;
}

const struct key_row *config_schema_row(size_t index)
{
    return machine_key(index);
}

bool config_schema_find(const char *key, size_t *index)
{
    for (size_t i = 0; i < config_schema_size(); i++) {
        if (strcmp(machine_key(i)->key, key) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

size_t config_schema_group_length(const struct key_row *row)
{
    const char *dot = strchr(row->key, '.');
    return dot == NULL ? 0 : (size_t)(dot - row->key);
}

bool config_schema_find_group(const char *name, size_t *index)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < config_schema_size(); i++) {
        if (length > 0 && config_schema_group_length(machine_key(i)) == length &&
            strncmp(machine_key(i)->key, name, length) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}
