/* Where a study's Q, K and V come from: the generator, or the file of --tensors. */
#ifndef AHBM_STUDY_INPUTS_H
#define AHBM_STUDY_INPUTS_H

#include "pdes/transport/comm.h"
#include "study/problem.h"
#include "values/source.h"

/* Whether the file, if there is one, can be read without harm (tensors/tensors_probe.h): before MPI
 * starts, by one process. */
bool inputs_probe(const struct study_options *options, struct error *err);

/* Ended by value_source_free(). With a file every process opens it, and it is checked as by
 * inputs_check(), the work shared, and that it is the same file everywhere (same.h): NULL with the
 * same `err` on all processes when it is refused. Collective. */
struct value_source *inputs_new(const struct comm *comm, const struct machine_params *params,
                                const struct study_options *options, struct error *err);

/* Whether the file, if there is one, can be read, has the shapes of each of the study's contexts
 * and finite numbers only. Not collective, and without MPI. Probes the file itself. */
bool inputs_check(const struct machine_params *params, const struct study_options *options,
                  struct error *err);

#endif
