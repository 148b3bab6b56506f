/* The steps that collectives are made of, over one level. All allocate in the caller's scratch
 * scope or less. */
#ifndef AHBM_KERNELS_COLLECTIVE_STEPS_H
#define AHBM_KERNELS_COLLECTIVE_STEPS_H

#include <ahbm/tl.h>

#include "kernels/kit/payload.h"
#include <ahbm/kit/ring.h>

/* Reduces to the root of the level; true there. */
bool step_reduce(struct tl *tl, enum tl_axis axis, enum tl_reduce shape,
                 const struct kit_payload *payload);

/* From the root to all, along the same edges. */
void step_broadcast(struct tl *tl, enum tl_axis axis, enum tl_reduce shape,
                    const struct kit_payload *payload);

/* Ring reduce-scatter of `range`: the part that is complete here; N - 1 steps. */
struct kit_range step_scatter(struct tl *tl, const struct kit_ring *ring,
                              const struct kit_payload *payload, struct kit_range range);

/* Ring all-gather: the reverse. */
void step_gather(struct tl *tl, const struct kit_ring *ring, const struct kit_payload *payload,
                 struct kit_range range);

#endif
