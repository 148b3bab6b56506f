/* The sweep of one query block over the KV tokens on this PE. */
#ifndef AHBM_KERNELS_ATTENTION_H
#define AHBM_KERNELS_ATTENTION_H

#include <ahbm/tl.h>

#include <ahbm/kit/state.h>
#include <ahbm/kit/tile.h>

/* Leaves in `state` the (m, l, O) of source->tokens tokens, of none as well, in the form that
 * launch->form and launch->gemm ask for. Allocates in the scratch scope of the caller. */
void attention_sweep(struct tl *tl, const struct kit_tile_source *source,
                     const struct kit_state *state);

/* The same in two halves, with buffers of the caller's that may be larger: between them something
 * else may be done while the first scores are computed. Not in the softmax_merge form. */
void attention_start(struct tl *tl, const struct kit_tile_pair *pair);
void attention_finish(struct tl *tl, const struct kit_tile_pair *pair,
                      const struct kit_state *state);

#endif
