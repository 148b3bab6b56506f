/* What every decode does with a request on one PE: check, sweep, store. */
#ifndef AHBM_KERNELS_DECODE_REQUEST_H
#define AHBM_KERNELS_DECODE_REQUEST_H

#include <ahbm/tl.h>

#include <ahbm/kit/state.h>
#include <ahbm/kit/tile.h>

/* Ends the recording when the launch is none for a decode. */
void decode_check(struct tl *tl, const struct tl_launch *launch);

/* Rows of a query block: heads and positions are folded into the M of the GEMMs. */
uint32_t decode_rows(const struct tl_launch *launch);

/* Request `request` with Q, K and V in the share of PE `pe` of this CUBE; source.q is Q in HBM, to
 * be loaded. */
struct kit_tile_source decode_open(struct tl *tl, const struct tl_launch *launch, uint32_t request,
                                   uint32_t pe);

/* Ends the recording when decode_reduce() could not work. */
void decode_check_reduction(struct tl *tl, const struct tl_launch *launch);

/* From the PEs of each CUBE to its root PE, from there over the CUBEs; false on a PE that handed
 * its state on. */
bool decode_reduce(struct tl *tl, const struct tl_launch *launch, struct kit_state *state);

/* Sweeps the tokens of `request` that lie in the share of PE `pe` of this CUBE. Allocates in the
 * caller's scratch scope. */
struct kit_state decode_sweep(struct tl *tl, const struct tl_launch *launch, uint32_t request,
                              uint32_t pe);

/* Divides by l and stores O. */
void decode_store(struct tl *tl, const struct tl_launch *launch, uint32_t request,
                  const struct kit_state *state);

#endif
