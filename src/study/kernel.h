/* The kernel that a study runs: a shipped one or a user's shared object. */
#ifndef AHBM_STUDY_KERNEL_H
#define AHBM_STUDY_KERNEL_H

#include <ahbm/kernel.h>

#include "pdes/transport/comm.h"
#include "study/options.h"
#include "support/error.h"

/* "NAME,NAME,...": options->kernels, a set's name replaced by the names in it. Whether there are
 * such kernels is kernel_resolve()'s to tell. False with ERROR_USAGE when a name is empty. */
bool kernel_names(const char *text, struct study_options *options, struct error *err);
void kernel_names_free(struct study_options *options);

/* Opens those of options->kernels that are files, once; they stay to the end of the program. All
 * processes have equal ones, or all have the same `err` (ERROR_USAGE). Collective; `group` NULL:
 * for one process, without MPI. Called before anything resolves. */
bool kernels_load(const struct comm *comm, struct study_options *options, struct error *err);

/* Of options->kernel, or else the phase's; lives to the end of the program. NULL with ERROR_USAGE
 * when there is none, or when it contradicts --phase or --case. */
const struct tl_kernel_info *kernel_resolve(const struct study_options *options, struct error *err);

#endif
