/* What a machine file may say: the keys of all parts of the machine, one after the other. */
#ifndef AHBM_CONFIG_SCHEMA_H
#define AHBM_CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "machine/key.h"

size_t config_schema_size(void);
const struct key_row *config_schema_row(size_t index);

bool config_schema_find(const char *key, size_t *index);

/* Whether `name` is a group; `*index` is its first row. */
bool config_schema_find_group(const char *name, size_t *index);

/* Length of the group's name in a row's key; 0 outside the groups. */
size_t config_schema_group_length(const struct key_row *row);

/* The key or group most like `key`, or NULL when none is close. `out` holds CONFIG_KEY_BYTES. */
enum { CONFIG_KEY_BYTES = 64 };
const char *config_schema_suggest(const char *key, char *out);

#endif
