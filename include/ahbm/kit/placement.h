/* Which PE holds which tokens and which PE works on which request: pure arithmetic.
 *
 * The KV cache of a request is dealt out round-robin: token i lies on rank (start + i) mod N of the
 * N ranks that share it, start = request mod N. Within a rank tokens are dense.
 */
#ifndef AHBM_KIT_PLACEMENT_H
#define AHBM_KIT_PLACEMENT_H

#include <ahbm/launch.h>

/* N: CUBEs * PEs, CUBEs, PEs or 1, as the cache is split over both, CUBEs, PEs or neither. */
uint32_t kit_placement_ranks(const struct tl_launch *launch);

/* The rank of PE (cube, pe); in a level that does not share the cache all have the same. */
uint32_t kit_placement_rank(const struct tl_launch *launch, uint32_t cube, uint32_t pe);

/* Tokens of `context` that lie on `rank` of `ranks`. */
uint64_t kit_placement_tokens(uint64_t context, uint32_t ranks, uint32_t rank, uint32_t start);

/* The global index of the token in `slot` of `rank`. */
uint64_t kit_placement_token(uint32_t ranks, uint32_t rank, uint32_t start, uint64_t slot);

/* Whether some PE of CUBE `cube` works on `request`. */
bool kit_placement_cube_works(const struct tl_launch *launch, uint32_t cube, uint32_t request);

/* The PE that works on `request` in each CUBE that does, when the cache is not split over PEs. */
uint32_t kit_placement_worker(const struct tl_launch *launch, uint32_t request);

/* Whether PE (cube, pe) works on `request`. */
bool kit_placement_pe_works(const struct tl_launch *launch, uint32_t cube, uint32_t pe,
                            uint32_t request);

#endif
