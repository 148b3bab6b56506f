/* The baseline of ADR-0060, section A: K/V blocks go round in both directions, each step is waited
 * for, and nothing is skipped: tiles of the future are computed and masked away. */
#include "kernels/prefill/prefill_fanout.h"

#include "kernels/prefill/prefill_work.h"
#include <ahbm/kit/ring.h>
#include <ahbm/kit/tile.h>

struct fanout {
    const struct tl_launch *launch;
    struct kit_ring ring;
    struct work work;
    struct kv own, ways[2][2]; /* per direction, in turn */
    bool seen;                 /* every block has seen a tile: all see the same ones */
};

static struct kv new_buffer(struct tl *tl, const struct tl_launch *launch)
{
    return (struct kv){tl_empty(tl, launch->head_dim, launch->tile, TL_BF16),
                       tl_empty(tl, launch->tile, launch->head_dim, TL_BF16)};
}

static struct kv part(struct tl *tl, const struct fanout *fanout, const struct kv *kv,
                      uint32_t width)
{
    uint32_t dim = fanout->launch->head_dim;
    return (struct kv){kit_tile_part(tl, kv->k, dim, width), kit_tile_part(tl, kv->v, width, dim)};
}

static void send(struct tl *tl, enum tl_queue queue, struct kv kv)
{
    tl_send(tl, queue, kv.k);
    tl_send(tl, queue, kv.v);
}

static void compute(struct tl *tl, struct fanout *fanout, struct key_tile tile, struct kv kv)
{
    struct work *work = &fanout->work;
    for (uint64_t i = work->first_block; i < work->end_block; i++)
        work_push(tl, work, i, tile, kv, !fanout->seen);
    fold_flush(tl, &work->fold);
    fanout->seen = true;
}

/* The CUBE's own tile: to both neighbours. */
static void start_slot(struct tl *tl, struct fanout *fanout, uint64_t slot)
{
    const struct tl_launch *launch = fanout->launch;
    struct key_tile tile = key_tile(launch, launch->cube, launch->pe, slot);
    if (tile.width == 0)
        return;
    struct kv kv = part(tl, fanout, &fanout->own, tile.width);
    struct kv home = key_home(tl, launch, launch->pe, fanout->work.request, slot, tile.width);
    tl_load_to(tl, kv.k, home.k);
    tl_load_to(tl, kv.v, home.v);
    if (fanout->ring.size > 1)
        send(tl, fanout->ring.next, kv);
    if (fanout->ring.size > 2)
        send(tl, fanout->ring.previous, kv);
    compute(tl, fanout, tile, kv);
}

/* The tile that comes from `step` places away, and on to the next that has not seen it. */
static void take(struct tl *tl, struct fanout *fanout, uint64_t slot, int way, uint32_t step,
                 uint32_t steps)
{
    const struct kit_ring *ring = &fanout->ring;
    uint32_t behind = way == 0 ? step : ring->size - step;
    uint32_t cube = kit_ring_source(tl, ring, behind);
    struct key_tile tile = key_tile(fanout->launch, cube, fanout->launch->pe, slot);
    if (tile.width == 0)
        return;
    struct kv kv = part(tl, fanout, &fanout->ways[way][step % 2], tile.width);
    enum tl_queue from = way == 0 ? ring->previous : ring->next;
    tl_recv_to(tl, from, kv.k);
    tl_recv_to(tl, from, kv.v);
    if (step < steps)
        send(tl, way == 0 ? ring->next : ring->previous, kv);
    compute(tl, fanout, tile, kv);
}

/* Half of the others come from one side, half from the other. */
static void run_slot(struct tl *tl, struct fanout *fanout, uint64_t slot)
{
    uint32_t others = fanout->ring.size - 1, steps[2] = {(others + 1) / 2, others / 2};
    start_slot(tl, fanout, slot);
    for (uint32_t step = 1; step <= steps[0]; step++)
        for (int way = 0; way < 2; way++)
            if (step <= steps[way])
                take(tl, fanout, slot, way, step, steps[way]);
}

static void start(struct tl *tl, struct fanout *fanout)
{
    fanout->own = new_buffer(tl, fanout->launch);
    for (int i = 0; i < 4; i++)
        fanout->ways[i / 2][i % 2] = new_buffer(tl, fanout->launch);
    work_start_jobs(tl, &fanout->work);
}

static void run_request(struct tl *tl, struct fanout *fanout)
{
    struct work *work = &fanout->work;
    TL_SCRATCH_SCOPE(tl)
    {
        work_start(tl, work);
        TL_SCRATCH_SCOPE(tl)
        {
            start(tl, fanout);
            for (uint64_t slot = 0; slot < key_slots(fanout->launch); slot++)
                run_slot(tl, fanout, slot);
        }
        for (uint64_t i = work->first_block; i < work->end_block; i++)
            work_end(tl, work, i, fanout->seen);
    }
}

void kernel_prefill_fanout(struct tl *tl, const struct tl_launch *launch)
{
    struct prefill_plan plan = prefill_ring_plan(launch, false);
    if (launch->phase != TL_PHASE_PREFILL || !launch->cube_sp || !launch->pe_sp || !plan.fits)
        tl_fail(tl, "this kernel needs a prefill whose keys are split over all PEs of the group");
    block_check(tl, launch);
    for (uint32_t request = 0; request < launch->batch; request++) {
        struct fanout fanout = {.launch = launch, .ring = kit_ring_of(tl, launch, TL_AXIS_CUBE)};
        fanout.work = work_of(launch, request, &plan, 0, false);
        run_request(tl, &fanout);
    }
}
