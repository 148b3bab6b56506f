#include "kernels/prefill/prefill_work.h"

#include <ahbm/kit/tile.h>

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct work work_of(const struct tl_launch *launch, uint32_t request,
                    const struct prefill_plan *plan, uint64_t first, bool rotate)
{
    struct work work = {.launch = launch, .request = request, .first_block = first};
    work.heads = query_heads(launch, launch->cube);
    uint64_t blocks = work.heads > 0 ? query_blocks(launch, launch->pe) : 0;
    uint64_t rest = blocks > first ? blocks - first : 0;
    work.resident = least(rest, plan->resident);
    work.end_block = first + (rotate ? work.resident : rest);
    work.spills = !rotate && rest > work.resident;
    return work;
}

struct block work_block(const struct work *work, uint64_t i)
{
    return block_at(work->launch, work->heads, work->request, i);
}

/* NULL when the block passes through slots. */
static const struct work_place *place_of(const struct work *work, uint64_t i)
{
    uint64_t at = i - work->first_block;
    return at < work->resident ? &work->resident_places[at] : NULL;
}

static struct tl_tensor q_in(struct tl *tl, const struct work *work, const struct work_place *place,
                             const struct block *block)
{
    return kit_tile_part(tl, place->q, block->rows, work->launch->head_dim);
}

static struct kit_state state_in(struct tl *tl, const struct work *work,
                                 const struct work_place *place, const struct block *block)
{
    return kit_state_at(tl, place->state, block->rows, work->launch->head_dim,
                        work->launch->packed);
}

static struct work_place new_place(struct tl *tl, const struct work *work)
{
    const struct tl_launch *launch = work->launch;
    uint32_t rows = work->heads * launch->query_block;
    return (struct work_place){tl_empty(tl, rows, launch->head_dim, TL_BF16),
                               tl_empty(tl, rows, launch->head_dim + 2, TL_F32)};
}

void work_start(struct tl *tl, struct work *work)
{
    for (uint64_t i = 0; i < work->resident; i++) {
        struct block block = work_block(work, work->first_block + i);
        work->resident_places[i] = new_place(tl, work);
        tl_load_to(tl, q_in(tl, work, &work->resident_places[i], &block),
                   block_q_home(tl, work->launch, &block));
    }
}

void work_start_jobs(struct tl *tl, struct work *work)
{
    const struct tl_launch *launch = work->launch;
    for (uint32_t i = 0; work->spills && i < FOLD_STAGES; i++)
        work->slot_places[i] = new_place(tl, work);
    work->fold = (struct fold){0};
    if (work->heads > 0)
        work->fold = fold_new(tl, launch, work->heads * launch->query_block, launch->tile);
}

void work_push(struct tl *tl, struct work *work, uint64_t i, struct key_tile tile, struct kv kv,
               bool first)
{
    const struct work_place *place = place_of(work, i);
    struct block block = work_block(work, i);
    struct fold_job job = {
        .k = kv.k,
        .v = kv.v,
        .first = first,
        .masked = block_is_cut(&block, tile),
        .q_first = block.token,
        .positions = block.at.count,
        .k_first = tile.first,
        .spilled = place == NULL,
    };
    if (job.spilled) {
        place = &work->slot_places[work->spilled++ % FOLD_STAGES];
        job.q_home = block_q_home(tl, work->launch, &block);
        job.state_home = block_state_home(tl, work->launch, &block);
    }
    job.q = q_in(tl, work, place, &block);
    job.state = state_in(tl, work, place, &block);
    fold_push(tl, &work->fold, &job);
}

void work_end(struct tl *tl, struct work *work, uint64_t i, bool seen)
{
    const struct tl_launch *launch = work->launch;
    struct block block = work_block(work, i);
    const struct work_place *place = place_of(work, i);
    TL_SCRATCH_SCOPE(tl)
    {
        struct kit_state state =
            place != NULL ? state_in(tl, work, place, &block)
                          : kit_state_new(tl, block.rows, launch->head_dim, launch->packed);
        if (!seen)
            kit_state_clear(tl, &state);
        else if (place == NULL)
            tl_load_to(tl, state.whole, block_state_home(tl, launch, &block));
        block_end(tl, launch, &block, &state);
    }
}
