/* One point of a study: which CUBE works on what, with which launch arguments and which memory. */
#ifndef AHBM_STUDY_PROBLEM_H
#define AHBM_STUDY_PROBLEM_H

#include <ahbm/kernel.h>

#include "machine/params.h"
#include "results/results.h"
#include "study/options.h"
#include "support/error.h"

#define NO_GROUP UINT32_MAX

struct problem {
    const struct machine_params *params;
    const struct tl_kernel_info *kernel;
    uint32_t case_number; /* 1 to 4; 0: the kernel has a placement of its own */
    struct grid group;    /* of CUBEs */
    uint32_t groups;
    struct tl_launch launch; /* without the geometry fields of a PE */
};

/* Checks what machine and kernel decide: kernel, group size, context, queries, scratch. */
bool problem_check(const struct machine_params *params, const struct study_options *options,
                   struct error *err);

/* `options` must have passed problem_check(); `case_number` is ignored by a kernel with a placement
 * of its own. */
void problem_init(struct problem *problem, const struct machine_params *params,
                  const struct study_options *options, uint32_t case_number, uint64_t context);

/* The group a CUBE belongs to, NO_GROUP when it is left over, and its number in the group. */
uint32_t problem_group(const struct problem *problem, uint32_t cube, uint32_t *within);

/* The launch arguments of a PE of a CUBE that belongs to a group. */
struct tl_launch problem_launch(const struct problem *problem, uint32_t group, uint32_t cube,
                                uint32_t pe);

/* What lies in a PE's HBM share for one layer; zero for a left-over CUBE. A replica CUBE holds the
 * KV of all requests. */
struct footprint problem_footprint(const struct problem *problem, uint32_t cube, uint32_t pe);

#endif
