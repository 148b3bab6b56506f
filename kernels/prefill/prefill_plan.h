/* How a prefill divides a PE's scratch: pure arithmetic, the same for the launch and the kernel. */
#ifndef AHBM_KERNELS_PREFILL_PLAN_H
#define AHBM_KERNELS_PREFILL_PLAN_H

#include <ahbm/launch.h>

/* Query blocks whose Q and (m, l, O) stay in scratch, and places through which the others pass. */
struct prefill_plan {
    bool fits;
    uint64_t resident; /* blocks; of a PE that has fewer, all */
    uint32_t slots;    /* 0: all blocks are resident */
};

/* Of the ring kernel, for the launch's query_block, tile and ring_depth. `rotate`: blocks that do
 * not fit wait for a rotation of their own instead of passing through slots. */
struct prefill_plan prefill_ring_plan(const struct tl_launch *launch, bool rotate);

/* Whether KV blocks rotate over the CUBEs; else all keys lie in the CUBE. */
bool prefill_is_ring(const struct tl_launch *launch);

/* Receives that a PE of the ring kernel posts on one queue pair before it sends anything; one that
 * posts more than the queue accepts would wait for its neighbours, and they for it. */
uint32_t prefill_posted(const struct tl_launch *launch);

/* Whether the kernel, ring or not, fits into scratch. */
bool prefill_fits(const struct tl_launch *launch, bool rotate);

/* Sets tile to the keys of a PE, at most `most_tile`, and query_block to the largest one of up to
 * 128 rows that fits; false when none does. (Smaller ones that would keep all states in scratch
 * were measured: slower than passing some through HBM, because each MATH command has a start-up.)
 */
bool prefill_plan_choose(struct tl_launch *launch, uint32_t most_tile, bool rotate);

#endif
