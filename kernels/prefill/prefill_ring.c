/* Ring KV. Every PE holds tiles of its CUBE's part of the context. The tiles of slot t of all CUBEs
 * rotate once over the CUBEs, from PE to PE of equal index; when the query positions are dealt to
 * the PEs, the tile that a PE then has also rotates once over the PEs of its CUBE. After that come
 * the tiles of slot t + 1. So a block larger than a buffer travels as sub-blocks, and no PE waits
 * for more than it has buffers for. What is skipped for causality is work, never a rotation. */
#include "kernels/prefill/prefill_ring.h"

#include "kernels/prefill/prefill_work.h"
#include "kernels/prefill/rotation.h"

/* Whether `block` has seen a tile before `step`. */
static bool seen_before(struct tl *tl, const struct rotation *rotation, const struct block *block,
                        struct step step)
{
    struct step at = {0, 0};
    for (; !step_equal(at, step); at = rotation_next(rotation, at))
        if (block_sees(block, rotation_tile(tl, rotation, at)))
            return true;
    return false;
}

/* The buffer of the step before is refilled as soon as no job uses it. */
static void take_step(struct tl *tl, struct work *work, const struct rotation *rotation,
                      struct step step)
{
    struct key_tile tile = rotation_tile(tl, rotation, step);
    struct kv kv = rotation_take(tl, rotation, step);
    uint32_t pushed = 0;
    for (uint64_t i = work->first_block; i < work->end_block; i++) {
        struct block block = work_block(work, i);
        if (!block_sees(&block, tile))
            continue;
        work_push(tl, work, i, tile, kv, !seen_before(tl, rotation, &block, step));
        if (++pushed == FOLD_KV_USED)
            rotation_refill(tl, rotation, step);
    }
    if (work->spills || pushed < FOLD_KV_USED)
        fold_flush(tl, &work->fold);
    if (pushed < FOLD_KV_USED)
        rotation_refill(tl, rotation, step);
}

static void rotate_once(struct tl *tl, struct work *work, struct rotation *rotation)
{
    struct step at = {0, 0}, end = rotation_end(rotation);
    TL_SCRATCH_SCOPE(tl)
    {
        work_start(tl, work);
        TL_SCRATCH_SCOPE(tl)
        {
            rotation_start(tl, rotation, work->request);
            work_start_jobs(tl, work);
            for (; !step_equal(at, end); at = rotation_next(rotation, at))
                take_step(tl, work, rotation, at);
            fold_flush(tl, &work->fold);
        }
        for (uint64_t i = work->first_block; i < work->end_block; i++) {
            struct block block = work_block(work, i);
            work_end(tl, work, i, seen_before(tl, rotation, &block, end));
        }
    }
}

/* Rotations of the PE with the most blocks: all PEs take part in all of them. */
static uint64_t rotations(const struct tl_launch *launch, const struct prefill_plan *plan)
{
    uint64_t most = 1;
    for (uint32_t pe = 0; pe < launch->pes; pe++) {
        uint64_t wanted = (query_blocks(launch, pe) + plan->resident - 1) / plan->resident;
        most = wanted > most ? wanted : most;
    }
    return most;
}

void prefill_ring(struct tl *tl, const struct tl_launch *launch, uint32_t request, bool rotate)
{
    struct prefill_plan plan = prefill_ring_plan(launch, rotate);
    struct rotation rotation = rotation_of(tl, launch);
    uint64_t times = rotate ? rotations(launch, &plan) : 1;
    for (uint64_t i = 0; i < times; i++) {
        struct work work = work_of(launch, request, &plan, i * plan.resident, rotate);
        rotate_once(tl, &work, &rotation);
    }
}
