/* What the config_*.c files share; nobody else includes it. */
#ifndef AHBM_CONFIG_INTERNAL_H
#define AHBM_CONFIG_INTERNAL_H

#include "machine/params.h"
#include "config/config.h"
#include "config/config_schema.h"

/* Where a value or a fault stands: a file and its line; `line` 0: the file as a whole, or `--set`;
 * `label` NULL: the schema's default. */
struct config_place {
    const char *label;
    size_t line;
};

struct config_entry {
    char *text;  /* canonical */
    char *label; /* owned: the place's label */
    size_t line;
};

struct config {
    struct machine_params params;
    struct config_entry *entries; /* one per schema row */
    bool finished;
};

/* Gives the key of row `index` the value in `text`. */
bool config_assign(struct config *config, size_t index, const char *text, struct config_place place,
                   struct error *err);

/* ERROR_USAGE "<place>: <key>: <message>"; `key` may be NULL. Always returns false. */
bool config_fail(struct error *err, struct config_place place, const char *key, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* The failure for a key that is no key: a group, or unknown with what it may have meant. */
bool config_fail_key(struct error *err, struct config_place place, const char *key);

/* `text` in quotes, cut to a readable length and made printable. Returns `out`. */
enum { CONFIG_QUOTE_BYTES = 64 };
const char *config_quote(const char *text, char out[CONFIG_QUOTE_BYTES]);

/* A file's name, made fit for one line. Returns `out`. */
enum { CONFIG_LABEL_BYTES = 256 };
const char *config_label(const char *path, char out[CONFIG_LABEL_BYTES]);

#endif
