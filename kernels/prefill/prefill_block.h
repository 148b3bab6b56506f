/* A query block of a prefill on one PE: its places in HBM and its end. */
#ifndef AHBM_KERNELS_PREFILL_BLOCK_H
#define AHBM_KERNELS_PREFILL_BLOCK_H

#include <ahbm/tl.h>

#include "kernels/prefill/prefill_place.h"
#include <ahbm/kit/state.h>

struct block {
    struct query_block at;
    uint64_t token; /* of its first position */
    uint32_t rows;  /* heads * positions */
    uint64_t q_addr, o_addr, s_addr;
};

/* Ends the recording when the launch asks for what no prefill does, or for a reduction that the
 * block's end cannot do. */
void block_check(struct tl *tl, const struct tl_launch *launch);

/* Block `i` of request `request` on this PE, whose CUBE has `heads` > 0 heads. */
struct block block_at(const struct tl_launch *launch, uint32_t heads, uint32_t request, uint64_t i);

/* Q [rows, d] and the running state [rows, d + 2] in HBM. */
struct tl_tensor block_q_home(struct tl *tl, const struct tl_launch *launch,
                              const struct block *block);
struct tl_tensor block_state_home(struct tl *tl, const struct tl_launch *launch,
                                  const struct block *block);

/* Whether some query of the block may see some key of the tile; whether one may not. */
bool block_sees(const struct block *block, struct key_tile tile);
bool block_is_cut(const struct block *block, struct key_tile tile);

/* The state is that of all keys of this PE: merges those of the CUBE's PEs when they share the
 * keys, divides by l and stores O. */
void block_end(struct tl *tl, const struct tl_launch *launch, const struct block *block,
               struct kit_state *state);

#endif
