/* Finds and reads the machine file that the options name. */
#ifndef AHBM_CLI_MACHINE_H
#define AHBM_CLI_MACHINE_H

#include "cli/options.h"
#include "config/config.h"

/* The text of the machine file; `*label` names it in messages. Both are the caller's (memory_free).
 * A name without a folder that is no file here is looked for among the installed machines. */
bool machine_read(const struct options *options, char **label, char **text, size_t *bytes,
                  struct error *err);

/* The machine of this text and of --set. NULL with `err`. */
struct config *machine_make(const struct options *options, const char *label, const char *text,
                            size_t bytes, struct error *err);

#endif
