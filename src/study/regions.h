/* Where a point's tensors lie: what its placement tells the values. */
#ifndef AHBM_STUDY_REGIONS_H
#define AHBM_STUDY_REGIONS_H

#include "study/problem.h"
#include "values/engine.h"

/* The request, counted over all batches of the launch, that request `request` of `group` is; and
 * the group's KV head. Group g works on KV head g mod H_kv of batch floor(g / H_kv). */
uint32_t problem_request(const struct problem *problem, uint32_t group, uint32_t request);
uint32_t problem_kv_head(const struct problem *problem, uint32_t group);

/* Batches that the groups make: ceil(groups / H_kv). */
uint32_t problem_batches(const struct problem *problem);

/* Maps Q, K, V and O of all PEs of CUBE `within` of `group`. A kernel with a placement of its own
 * describes it here. */
void problem_map(const struct problem *problem, uint32_t group, uint32_t within,
                 struct value_engine *engine);

#endif
