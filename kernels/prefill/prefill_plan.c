#include "kernels/prefill/prefill_plan.h"

#include "kernels/prefill/fold.h"
#include "kernels/prefill/prefill_place.h"

enum {
    BF16_BYTES = 2,
    F32_BYTES = 4,
    SLACK = 8192, /* alignment of all allocations */
    MOST_ROWS = 128,
    MOST_RESIDENT = 64,
    STEP = 32 /* tiles are multiples of it */
};

bool prefill_is_ring(const struct tl_launch *launch)
{
    return launch->cube_sp && launch->group_cubes > 1;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Rows of a query block on the CUBE with the most heads. */
static uint64_t block_rows(const struct tl_launch *launch)
{
    return (uint64_t)query_heads(launch, 0) * launch->query_block;
}

static uint64_t state_bytes(const struct tl_launch *launch)
{
    return block_rows(launch) * (launch->head_dim + UINT64_C(2)) * F32_BYTES;
}

static uint64_t q_bytes(const struct tl_launch *launch)
{
    return block_rows(launch) * launch->head_dim * BF16_BYTES;
}

/* What the end of a block takes: two more states for a reduction, O in bf16. */
static uint64_t end_bytes(const struct tl_launch *launch)
{
    return (launch->pe_sp ? 2 * state_bytes(launch) : 0) + q_bytes(launch);
}

static uint64_t ring_bytes(const struct tl_launch *launch)
{
    uint64_t buffers = launch->ring_depth + (launch->pe_sp ? UINT64_C(0) : 2);
    return buffers * 2 * launch->tile * launch->head_dim * BF16_BYTES;
}

static uint64_t most_blocks(const struct tl_launch *launch)
{
    uint64_t most = 0;
    for (uint32_t pe = 0; pe < launch->pes; pe++)
        most = larger(most, query_blocks(launch, pe));
    return most;
}

/* How many blocks fit beside `bytes`. */
static uint64_t room(const struct tl_launch *launch, uint64_t bytes)
{
    uint64_t block = q_bytes(launch) + state_bytes(launch) + 128;
    bytes += SLACK;
    return bytes > launch->scratch_bytes ? 0 : (launch->scratch_bytes - bytes) / block;
}

struct prefill_plan prefill_ring_plan(const struct tl_launch *launch, bool rotate)
{
    uint64_t work = fold_bytes(block_rows(launch), launch->tile) + ring_bytes(launch);
    uint64_t places = room(launch, larger(work, end_bytes(launch) + state_bytes(launch)));
    places = places < MOST_RESIDENT ? places : MOST_RESIDENT;
    if (places >= most_blocks(launch) || (rotate && places > 0))
        return (struct prefill_plan){true, places, 0};
    if (rotate || places < FOLD_STAGES)
        return (struct prefill_plan){false, 0, 0};
    return (struct prefill_plan){true, places - FOLD_STAGES, FOLD_STAGES};
}

/* K and V of every buffer but one; the ring over CUBEs begins with a buffer that is loaded. */
uint32_t prefill_posted(const struct tl_launch *launch)
{
    return 2 * (launch->ring_depth - (launch->pe_sp ? 2 : 1));
}

bool prefill_fits(const struct tl_launch *launch, bool rotate)
{
    uint64_t work = fold_bytes(block_rows(launch), launch->tile);
    return prefill_is_ring(launch) ? prefill_ring_plan(launch, rotate).fits
                                   : room(launch, larger(work, end_bytes(launch))) > 0;
}

/* The largest query block that fits. */
static bool choose_block(struct tl_launch *launch, bool rotate)
{
    uint32_t heads = query_heads(launch, 0);
    launch->query_block = heads < MOST_ROWS ? MOST_ROWS / heads : 1;
    while (launch->query_block > 1 && !prefill_fits(launch, rotate))
        launch->query_block /= 2;
    return prefill_fits(launch, rotate);
}

/* Keys of a CUBE, dealt to its PEs, rounded up to steps of the array. */
static uint64_t share(const struct tl_launch *launch)
{
    uint64_t keys = launch->context / (launch->cube_sp ? launch->group_cubes : 1);
    return (keys / key_pes(launch) + STEP - 1) / STEP * STEP;
}

bool prefill_plan_choose(struct tl_launch *launch, uint32_t most_tile, bool rotate)
{
    uint64_t tile = larger(share(launch), STEP);
    launch->tile = tile < most_tile ? (uint32_t)tile : most_tile;
    return choose_block(launch, rotate);
}
