/* Where a point's tensors lie: what its placement tells the values. */
#ifndef AHBM_STUDY_REGIONS_H
#define AHBM_STUDY_REGIONS_H

#include "study/problem.h"
#include "values/engine.h"

/* The request, counted over all batches, and the KV head that request `request` of the launch of
 * `group` works on. Group g works on KV head g mod H_kv of batch floor(g / H_kv). In a launch whose
 * kernel takes the heads apart (multi-head attention) each of the G = H_q / H_kv query heads of a
 * group is a request of its own, r = G * request + head in the group, and has its own KV head:
 * query head h has KV head h, of H_q. */
uint32_t problem_request(const struct problem *problem, uint32_t group, uint32_t request);
uint32_t problem_kv_head(const struct problem *problem, uint32_t group, uint32_t request);

/* The other way round: the group, and `*within` its request. */
uint32_t problem_find(const struct problem *problem, uint32_t request, uint32_t kv_head,
                      uint32_t *within);

/* KV heads and requests that the point's Q, K and V have: more heads than it may work on, when it
 * has fewer groups. */
uint32_t problem_kv_heads(const struct problem *problem);
uint32_t problem_requests(const struct problem *problem);

/* Batches that the groups make: ceil(groups / H_kv). */
uint32_t problem_batches(const struct problem *problem);

/* Whether all that the layout of a PE of `group` shows is part of the problem: tensors, requests,
 * heads, tokens and addresses that there are. Otherwise ERROR_USAGE, which names the region. */
bool problem_check_layout(const struct problem *problem, uint32_t group, uint32_t within,
                          uint32_t pe, struct error *err);

/* Maps Q, K, V and O of all PEs of CUBE `within` of `group`, as the kernel's layout shows them. */
void problem_map(const struct problem *problem, uint32_t group, uint32_t within,
                 struct value_engine *engine);

#endif
