/* The one table of what a machine file may say: key, type, range, default, meaning and origin. */
#ifndef AHBM_IO_CONFIG_SCHEMA_H
#define AHBM_IO_CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

/* How the text of a value is read, and as what it is stored in struct hw_params. */
enum config_type {
    CONFIG_TEXT,   /* printable characters; not stored there */
    CONFIG_CHOICE, /* `min` is stored as false, `max` as true */
    CONFIG_COUNT,  /* a whole number, in uint32_t or uint64_t */
    CONFIG_NS,     /* nanoseconds, in uint64_t picoseconds */
    CONFIG_GBPS,   /* 1e9 bytes per second, in struct rate */
    CONFIG_GHZ,    /* 1e9 cycles per second, in struct rate */
};

struct config_row {
    const char *key; /* "group.key", or "key" outside the groups; a group's rows stand together */
    enum config_type type;
    size_t offset, size; /* of the field in struct hw_params; 0 for CONFIG_TEXT */
    const char *min, *max;
    const char *initial;     /* the default */
    const char *description; /* one line, unit included */
    const char *origin;      /* "seed: ", "public fact: ", "assumption: " or "fitted: ", and what */
};

size_t config_schema_size(void);
const struct config_row *config_schema_row(size_t index);

bool config_schema_find(const char *key, size_t *index);

/* Whether `name` is a group; `*index` is its first row. */
bool config_schema_find_group(const char *name, size_t *index);

/* Length of the group's name in a row's key; 0 outside the groups. */
size_t config_schema_group_length(const struct config_row *row);

/* The key or group most like `key`, or NULL when none is close. `out` holds CONFIG_KEY_BYTES. */
enum { CONFIG_KEY_BYTES = 64 };
const char *config_schema_suggest(const char *key, char *out);

#endif
