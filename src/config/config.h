/* The machine configuration: defaults from one schema table (config_schema.c), changed by a YAML
 * machine file and by `--set KEY=VALUE`, checked as a whole, and printed back.
 *
 * Order of use: config_new, config_load or config_load_text, config_set, config_finish,
 * config_params. No call is collective; equal inputs give equal parameters on every rank, so rank 0
 * may read the file (config_read) and broadcast its text.
 *
 * Every failure is one line with ERROR_USAGE that names the file and line (or `--set`), the key,
 * the value and what is allowed. After a failure a configuration is good for config_free() only.
 */
#ifndef AHBM_CONFIG_H
#define AHBM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "support/error.h"

struct config;
struct machine_params;

enum { CONFIG_FILE_BYTES = 1 << 20 }; /* the largest machine file */

/* A configuration that holds the defaults. */
struct config *config_new(void);
void config_free(struct config *config); /* NULL is allowed */

/* The whole text of a machine file; the caller frees `*text` (memory_free) when it succeeds. */
bool config_read(const char *path, char **text, size_t *bytes, struct error *err);

/* Applies a machine file over what is there: keys that it does not name keep their values. `label`
 * stands for the file in messages. */
bool config_load_text(struct config *config, const char *label, const char *text, size_t bytes,
                      struct error *err);

/* config_read, then config_load_text with the path as label. */
bool config_load(struct config *config, const char *path, struct error *err);

/* Applies "group.key=value", as in `--set`. The last assignment of a key counts. */
bool config_set(struct config *config, const char *assignment, struct error *err);

/* Checks the keys against each other and derives the remaining parameters. */
bool config_finish(struct config *config, struct error *err);

/* The parameters, owned by `config`, valid after config_finish() until the next change. */
const struct machine_params *config_params(const struct config *config);

/* The machine's name, owned by `config`. */
const char *config_name(const struct config *config);

/* A complete machine file: every key with its value in canonical form and, as comments, its
 * description, unit, range, origin and where it was set. config_load() reads it back. */
void config_print(const struct config *config, FILE *out);

/* The same without the places (files, lines, options): a function of the values alone, for result
 * files and digests. Freed by the caller (memory_free). */
char *config_text(const struct config *config);

#endif
