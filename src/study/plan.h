/* Which points a study has: kernels outermost, then contexts, then cases where the kernel leaves
 * the placement to them. */
#ifndef AHBM_STUDY_PLAN_H
#define AHBM_STUDY_PLAN_H

#include "machine/params.h"
#include "study/options.h"
#include "support/error.h"

struct plan_point {
    struct study_options options; /* those of its kernel alone: `kernel`; borrows the study's */
    uint32_t case_number;         /* 0: the kernel has a placement of its own */
    uint64_t context;
};

/* The kernels, and the options as each of them sees them: with --case in a list that also has
 * kernels without cases, those run as they would without it. */
uint32_t plan_kernels(const struct study_options *options);
struct study_options plan_options(const struct study_options *options, uint32_t kernel);

/* problem_check() of every kernel, and own_names(). */
bool plan_check(const struct machine_params *params, const struct study_options *options,
                struct error *err);

/* How many points, and the `index`-th one. */
uint32_t plan_points(const struct study_options *options);
struct plan_point plan_point(const struct study_options *options, uint32_t index);

/* Puts the point's case, if it has one, and context in front of an error. Always returns false. */
bool plan_error(const struct plan_point *at, struct error *err);

/* CUBE groups of the kernel that has the most. `options` must have passed plan_check(). */
uint32_t plan_groups(const struct machine_params *params, const struct study_options *options);

#endif
