/* What the files of a replacement share. */
#ifndef AHBM_RESULTS_REPLACEMENT_INTERNAL_H
#define AHBM_RESULTS_REPLACEMENT_INTERNAL_H

#include "results/replacement.h"

/* Sets "cannot write PATH: WHY". Returns false. */
bool replacement_fail(const struct replacement *file, const char *why, struct error *err);

/* The last part of the path. */
const char *replacement_name(const struct replacement *file);

/* Whether `name` in the folder is the open file, not a link to it. Safe in a signal handler. */
bool replacement_has(const struct replacement *file, const char *name);

/* Whether the path may get a new file. What would fail at the end is told at the start. */
bool replacement_allowed(const struct replacement *file, struct error *err);

/* From now on the file loses its temporary name when the process is ended: by exit(), a fault, an
 * abort, or a signal that asks for it. Handlers that were there before run afterwards. */
void replacement_guard(const struct replacement *file);
void replacement_unguard(void);

#endif
