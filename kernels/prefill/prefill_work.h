/* The query blocks of one request on one PE while KV tiles come and go: which of them stay in
 * scratch, which pass through it, and the jobs that fold a tile into them. */
#ifndef AHBM_KERNELS_PREFILL_WORK_H
#define AHBM_KERNELS_PREFILL_WORK_H

#include <ahbm/tl.h>

#include "kernels/prefill/fold.h"
#include "kernels/prefill/key_home.h"
#include "kernels/prefill/prefill_block.h"
#include "kernels/prefill/prefill_plan.h"

enum { WORK_RESIDENT_MAX = 64 };

/* A KV tile in scratch. */
/* What a query block keeps in scratch, as large as the largest block. */
struct work_place {
    struct tl_tensor q, state;
};

struct work {
    const struct tl_launch *launch;
    uint32_t request, heads; /* no heads: no blocks */
    uint64_t first_block, end_block;
    uint64_t resident; /* of the blocks, those that stay in scratch */
    bool spills;       /* the others pass through slots */
    uint64_t spilled;  /* jobs, for the turn of the slots */
    struct fold fold;
    struct work_place resident_places[WORK_RESIDENT_MAX], slot_places[FOLD_STAGES];
};

/* Blocks from `first` on: all, or with `rotate` those that stay. */
struct work work_of(const struct tl_launch *launch, uint32_t request,
                    const struct prefill_plan *plan, uint64_t first, bool rotate);

struct block work_block(const struct work *work, uint64_t i);

/* Room for the resident blocks, and their Q; to be called in an outer scratch scope that lasts to
 * work_end(). */
void work_start(struct tl *tl, struct work *work);

/* Room for jobs, in a scratch scope that ends before work_end(). */
void work_start_jobs(struct tl *tl, struct work *work);

/* Folds a tile into block `i`; `first`: the block has seen none. A block that is not resident must
 * not be pushed again before fold_flush(). */
void work_push(struct tl *tl, struct work *work, uint64_t i, struct key_tile tile, struct kv kv,
               bool first);

/* Reduces, divides and stores block `i`; `seen`: it has seen a tile. */
void work_end(struct tl *tl, struct work *work, uint64_t i, bool seen);

#endif
