/* Files that every process opens for itself must be the same on all of them (docs/adr/0014). */
#ifndef AHBM_STUDY_SAME_H
#define AHBM_STUDY_SAME_H

#include "pdes/transport/comm.h"
#include "support/error.h"
#include "support/input.h"

/* As comm_agree(); the error of another process than the first says which it is, and its host. */
bool same_agree(const struct comm *comm, struct error *err);

/* Whether the file of all processes is the one of the first. A process that could not identify its
 * file has `err`. Otherwise ERROR_USAGE on all, as by same_agree(). Collective. */
bool same_file(const struct comm *comm, const char *option, const char *path,
               const struct input_identity *mine, struct error *err);

#endif
