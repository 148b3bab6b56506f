/* Where a study's Q, K and V come from: the generator, or the file of --tensors. */
#ifndef AHBM_STUDY_INPUTS_H
#define AHBM_STUDY_INPUTS_H

#include "pdes/group.h"
#include "study/problem.h"
#include "values/source.h"

/* Ended by value_source_free(). With a file every process opens it, and each of the study's
 * contexts is checked against it: NULL with the same `err` on all processes when it does not fit.
 * Collective.
 */
struct value_source *inputs_new(const struct group *group, const struct hw_params *params,
                                const struct study_options *options, struct error *err);

#endif
