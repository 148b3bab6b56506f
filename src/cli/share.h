/* What the run depends on, read once. */
#ifndef AHBM_CLI_SHARE_H
#define AHBM_CLI_SHARE_H

#include "cli/options.h"
#include "config/config.h"
#include "study/kernel.h"

/* Reads the files that the options name, but for the tensors: process 0 the machine and the
 * requests, which it tells the others; every process its kernels, all the same. The machine, or
 * NULL with the same `err` on all processes. Collective; `group` NULL: for one process, without
 * MPI. */
struct config *share_inputs(const struct comm *comm, struct options *options, struct error *err);

#endif
