/* What every decode does with a request on one PE: check, sweep, store. */
#ifndef AHBM_KERNELS_DECODE_REQUEST_H
#define AHBM_KERNELS_DECODE_REQUEST_H

#include <ahbm/tl.h>

#include "kernels/state.h"

/* Ends the recording when the launch is none for a decode. */
void decode_check(struct tl *tl, const struct tl_launch *launch);

/* Sweeps the tokens of `request` that lie in the share of PE `pe` of this CUBE. Allocates in the
 * caller's scratch scope. */
struct state decode_sweep(struct tl *tl, const struct tl_launch *launch, uint32_t request,
                          uint32_t pe);

/* Divides by l and stores O. */
void decode_store(struct tl *tl, const struct tl_launch *launch, uint32_t request,
                  const struct state *state);

#endif
