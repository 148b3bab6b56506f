/* KV tiles that rotate: over the CUBEs of the group and, when the query positions are dealt to the
 * PEs, over the PEs of each CUBE (see prefill_ring.c for the order). A step has a tile, the same
 * everywhere up to the rotation; a buffer for it is filled some steps ahead. */
#ifndef AHBM_KERNELS_ROTATION_H
#define AHBM_KERNELS_ROTATION_H

#include <ahbm/tl.h>

#include "kernels/prefill/prefill_work.h"
#include <ahbm/kit/ring.h>
#include <ahbm/kit/tile.h>

enum { ROTATION_DEPTH_MAX = 64 };

struct rotation {
    const struct tl_launch *launch;
    uint32_t request;
    struct kit_ring cubes, pes; /* pes.size 1: no rotation inside the CUBE */
    uint64_t turns;             /* of the outer rotation: slots * CUBEs */
    uint32_t outer_depth, inner_depth;
    struct kv outer[ROTATION_DEPTH_MAX], inner[ROTATION_DEPTH_MAX];
};

/* Outer turn (slot * CUBEs + step over the CUBEs) and step over the PEs. */
struct step {
    uint64_t turn;
    uint32_t inner;
};

static inline bool step_equal(struct step a, struct step b)
{
    return a.turn == b.turn && a.inner == b.inner;
}

struct rotation rotation_of(struct tl *tl, const struct tl_launch *launch);

struct step rotation_next(const struct rotation *rotation, struct step step);
struct step rotation_end(const struct rotation *rotation);

/* The tile that this PE has at `step`. */
struct key_tile rotation_tile(struct tl *tl, const struct rotation *rotation, struct step step);

/* Allocates the buffers in the caller's scratch scope and starts to fill them for the first steps.
 */
void rotation_start(struct tl *tl, struct rotation *rotation, uint32_t request);

/* The tile of `step` in its buffer, sent on to whom has it next; to be called in the order of the
 * steps. Without meaning when its width is 0. */
struct kv rotation_take(struct tl *tl, const struct rotation *rotation, struct step step);

/* Starts to fill the buffer that was in use before `step` and is no more. Once after each take. */
void rotation_refill(struct tl *tl, const struct rotation *rotation, struct step step);

#endif
