/* Records the programs of a study before anything is simulated: what cannot be recorded cannot be
 * run, and is told before a result of hours is lost (docs/adr/0015). */
#ifndef AHBM_STUDY_REHEARSE_H
#define AHBM_STUDY_REHEARSE_H

#include "machine/params.h"
#include "pdes/transport/comm.h"
#include "study/options.h"
#include "support/error.h"

/* Whether the kernel of every PE of every point records and has a layout of what there is;
 * otherwise ERROR_USAGE with what the run would have failed with, the same on all processes. Of a
 * program longer than the share of REHEARSE_COMMANDS that its PE has only the beginning is
 * recorded. Collective; with NULL the caller is alone, without MPI. Ended early, and true, when the
 * options say stop. `options` must have passed plan_check(). */
bool rehearse(const struct comm *comm, const struct machine_params *params,
              const struct study_options *options, struct error *err);

/* Commands of all PEs of a point. */
#define REHEARSE_COMMANDS 2000000

#endif
