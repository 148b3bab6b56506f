/* Ring KV. Every PE holds tiles of its CUBE's part of the context. The tiles of slot t of all CUBEs
 * rotate once over the CUBEs, from PE to PE of equal index; when the query positions are dealt to
 * the PEs, the tile that a PE then has also rotates once over the PEs of its CUBE. After that come
 * the tiles of slot t + 1. So a block larger than a buffer travels as sub-blocks, and no PE waits
 * for more than it has buffers for. What is skipped for causality is work, never a rotation. */
#include "kernels/prefill_ring.h"

#include "kernels/fold.h"
#include "kernels/prefill_block.h"
#include "kernels/prefill_plan.h"
#include "kernels/rotation.h"
#include "kernels/state.h"

enum { RESIDENT_MAX = 64 };

/* What a query block keeps in scratch, as large as the largest block. */
struct place {
    struct tl_tensor q, state;
};

struct work {
    const struct tl_launch *launch;
    uint32_t request, heads;
    struct rotation rotation;
    struct fold fold;
    uint64_t first_block, end_block; /* of this rotation */
    uint64_t resident;               /* of them, those that stay in scratch */
    bool spills;                     /* the others pass through slots */
    uint64_t spilled;                /* jobs, for the turn of the slots */
    struct place resident_places[RESIDENT_MAX], slot_places[FOLD_STAGES];
};

static struct block block_of(const struct work *work, uint64_t i)
{
    return block_at(work->launch, work->heads, work->request, i);
}

/* Whether `block` has seen a tile before `step`. */
static bool seen_before(struct tl *tl, const struct work *work, const struct block *block,
                        struct step step)
{
    struct step at = {0, 0};
    for (; !step_equal(at, step); at = rotation_next(&work->rotation, at))
        if (block_sees(block, rotation_tile(tl, &work->rotation, at)))
            return true;
    return false;
}

/* NULL when the block passes through slots. */
static const struct place *place_of(const struct work *work, uint64_t i)
{
    uint64_t at = i - work->first_block;
    return at < work->resident ? &work->resident_places[at] : NULL;
}

static struct tl_tensor q_in(struct tl *tl, const struct work *work, const struct place *place,
                             const struct block *block)
{
    return tile_part(tl, place->q, block->rows, work->launch->head_dim);
}

static struct state state_in(struct tl *tl, const struct work *work, const struct place *place,
                             const struct block *block)
{
    return state_at(tl, place->state, block->rows, work->launch->head_dim, work->launch->packed);
}

/* ---- the work of a step ---- */

static void push(struct tl *tl, struct work *work, uint64_t i, struct step step,
                 struct key_tile tile, struct kv kv)
{
    const struct place *place = place_of(work, i);
    struct block block = block_of(work, i);
    struct fold_job job = {
        .k = kv.k,
        .v = kv.v,
        .first = !seen_before(tl, work, &block, step),
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

static bool sees(const struct work *work, uint64_t i, struct key_tile tile)
{
    struct block block = block_of(work, i);
    return block_sees(&block, tile);
}

/* The buffer of the step before is refilled as soon as no job uses it. */
static void take_step(struct tl *tl, struct work *work, struct step step)
{
    struct key_tile tile = rotation_tile(tl, &work->rotation, step);
    struct kv kv = rotation_take(tl, &work->rotation, step);
    uint32_t pushed = 0;
    for (uint64_t i = work->first_block; i < work->end_block; i++) {
        if (!sees(work, i, tile))
            continue;
        push(tl, work, i, step, tile, kv);
        if (++pushed == FOLD_KV_USED)
            rotation_refill(tl, &work->rotation, step);
    }
    if (work->spills || pushed < FOLD_KV_USED)
        fold_flush(tl, &work->fold);
    if (pushed < FOLD_KV_USED)
        rotation_refill(tl, &work->rotation, step);
}

/* ---- a rotation ---- */

static struct place new_place(struct tl *tl, const struct work *work)
{
    const struct tl_launch *launch = work->launch;
    uint32_t rows = work->heads * launch->query_block;
    return (struct place){tl_empty(tl, rows, launch->head_dim, TL_BF16),
                          tl_empty(tl, rows, launch->head_dim + 2, TL_F32)};
}

static void new_resident(struct tl *tl, struct work *work)
{
    for (uint64_t i = 0; i < work->resident; i++) {
        struct block block = block_of(work, work->first_block + i);
        work->resident_places[i] = new_place(tl, work);
        tl_load_to(tl, q_in(tl, work, &work->resident_places[i], &block),
                   block_q_home(tl, work->launch, &block));
    }
}

static void new_buffers(struct tl *tl, struct work *work)
{
    const struct tl_launch *launch = work->launch;
    rotation_start(tl, &work->rotation, work->request);
    for (uint32_t i = 0; work->spills && i < FOLD_STAGES; i++)
        work->slot_places[i] = new_place(tl, work);
    work->fold = (struct fold){0};
    if (work->heads > 0)
        work->fold = fold_new(tl, launch, work->heads * launch->query_block, launch->tile);
}

/* Takes the state of a block to its end, from HBM when it was there. */
static void end_block(struct tl *tl, struct work *work, uint64_t i)
{
    const struct tl_launch *launch = work->launch;
    struct block block = block_of(work, i);
    const struct place *place = place_of(work, i);
    bool seen = seen_before(tl, work, &block, rotation_end(&work->rotation));
    TL_SCRATCH_SCOPE(tl)
    {
        struct state state = place != NULL
                                 ? state_in(tl, work, place, &block)
                                 : state_new(tl, block.rows, launch->head_dim, launch->packed);
        if (!seen)
            state_clear(tl, &state);
        else if (place == NULL)
            tl_load_to(tl, state.whole, block_state_home(tl, launch, &block));
        block_end(tl, launch, &block, &state);
    }
}

static void rotate_once(struct tl *tl, struct work *work)
{
    struct step at = {0, 0}, end = rotation_end(&work->rotation);
    TL_SCRATCH_SCOPE(tl)
    {
        new_resident(tl, work);
        TL_SCRATCH_SCOPE(tl)
        {
            new_buffers(tl, work);
            for (; !step_equal(at, end); at = rotation_next(&work->rotation, at))
                take_step(tl, work, at);
            fold_flush(tl, &work->fold);
        }
        for (uint64_t i = work->first_block; i < work->end_block; i++)
            end_block(tl, work, i);
    }
}

/* The blocks of the rotation that begins with block `first`. */
static void choose_blocks(struct work *work, const struct prefill_plan *plan, uint64_t first,
                          uint64_t blocks, bool rotate)
{
    uint64_t rest = blocks > first ? blocks - first : 0;
    work->first_block = first;
    work->resident = rest < plan->resident ? rest : plan->resident;
    work->end_block = first + (rotate ? work->resident : rest);
    work->spills = !rotate && rest > work->resident;
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
    struct work work = {.launch = launch, .request = request};
    work.heads = query_heads(launch, launch->cube);
    work.rotation = rotation_of(tl, launch);
    uint64_t blocks = work.heads > 0 ? query_blocks(launch, launch->pe) : 0;
    uint64_t times = rotate ? rotations(launch, &plan) : 1;
    for (uint64_t i = 0; i < times; i++) {
        choose_blocks(&work, &plan, i * plan.resident, blocks, rotate);
        rotate_once(tl, &work);
    }
}
