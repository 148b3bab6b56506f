#include "kernels/prefill/prefill_layout.h"

#include <inttypes.h>
#include <stdio.h>

#include <ahbm/kit/homes.h>
#include "kernels/prefill/key_home.h"
#include "kernels/prefill/prefill_fanout.h"
#include "kernels/prefill/prefill_place.h"
#include "kernels/prefill/prefill_plan.h"

enum { DEFAULT_TILE = 128, BF16_BYTES = 2 };

/* ---- choose ---- */

/* Query rows of the PE with the most. */
static uint64_t most_rows(const struct tl_launch *launch)
{
    uint64_t most = 0;
    for (uint32_t pe = 0; pe < launch->pes; pe++) {
        uint64_t rows = query_heads(launch, 0) * query_positions(launch, pe);
        most = rows > most ? rows : most;
    }
    return most;
}

static void choose(struct tl_launch *launch, bool rotate)
{
    uint32_t most_tile = launch->tile > 0 ? launch->tile : DEFAULT_TILE;
    launch->phase = TL_PHASE_PREFILL;
    launch->query_block = 0; /* what check() refuses */
    if (launch->query_len == 0 && launch->context <= UINT32_MAX)
        launch->query_len = (uint32_t)launch->context;
    if (launch->query_len == 0)
        return;
    if (!prefill_plan_choose(launch, most_tile, rotate)) {
        launch->query_block = 0;
        return;
    }
    kit_homes_choose(launch, most_rows(launch), key_slots(launch) * launch->tile);
}

void prefill_choose(struct tl_launch *launch)
{
    choose(launch, false);
}

void prefill_rotate_choose(struct tl_launch *launch)
{
    choose(launch, true);
}

void prefill_fanout_choose(struct tl_launch *launch)
{
    launch->ring_depth = PREFILL_FANOUT_DEPTH;
    choose(launch, false);
}

/* ---- check ---- */

bool prefill_fanout_check(const struct tl_launch *launch, char *why, size_t size)
{
    if (launch->contexts != NULL)
        snprintf(why, size, "--requests: lengths of their own are for decode");
    else if (launch->query_len == 0)
        snprintf(why, size,
                 "--context: %" PRIu64 " is not allowed in a prefill of all positions (allowed: up "
                 "to %u, or give --query-len)",
                 launch->context, UINT32_MAX);
    else if (launch->query_block == 0)
        snprintf(why, size,
                 "does not fit into %" PRIu64
                 " bytes of scratch (scratch.capacity_bytes): choose a "
                 "smaller --tile or --ring-depth",
                 launch->scratch_bytes);
    else
        return true;
    return false;
}

bool prefill_check(const struct tl_launch *launch, char *why, size_t size)
{
    if (!prefill_fanout_check(launch, why, size))
        return false;
    if (!prefill_is_ring(launch) || prefill_posted(launch) <= launch->queue_commands)
        return true;
    snprintf(why, size,
             "--ring-depth: %u buffers post %u receives on a queue pair before the first send, and "
             "it accepts %" PRIu64 " (ipcq.queue_commands): choose a smaller depth, or raise that",
             launch->ring_depth, prefill_posted(launch), launch->queue_commands);
    return false;
}

/* ---- layout ---- */

/* Q or O of one query block: [heads, positions, d] with the heads of the CUBE. */
static void show_block(const struct tl_launch *launch, struct tl_visitor *visitor,
                       enum tl_tensor_name tensor, uint32_t request,
                       const struct query_block *block)
{
    uint64_t base = tensor == TL_TENSOR_O ? launch->o_base + request * launch->o_stride
                                          : launch->q_base + request * launch->q_stride;
    uint32_t heads = query_heads(launch, launch->cube);
    struct tl_region region = {
        .tensor = tensor,
        .request = request,
        .addr = base + block->before * heads * launch->head_dim * BF16_BYTES,
        .head = launch->cube,
        .head_step = launch->group_cubes,
        .rows = (uint64_t)heads * block->count,
        .rows_per_head = block->count,
        .token = block->first,
        .token_step = 1,
    };
    visitor->visit(visitor, &region);
}

static void show_blocks(const struct tl_launch *launch, struct tl_visitor *visitor,
                        uint32_t request)
{
    if (query_heads(launch, launch->cube) == 0)
        return;
    for (uint64_t i = 0; i < query_blocks(launch, launch->pe); i++) {
        struct query_block block = query_block(launch, launch->pe, i);
        show_block(launch, visitor, TL_TENSOR_Q, request, &block);
        show_block(launch, visitor, TL_TENSOR_O, request, &block);
    }
}

static void show_tiles(const struct tl_launch *launch, struct tl_visitor *visitor, uint32_t request)
{
    for (uint64_t slot = 0; slot < key_slots(launch); slot++) {
        struct key_tile tile = key_tile(launch, launch->cube, launch->pe, slot);
        struct tl_region region = {
            .tensor = TL_TENSOR_K,
            .request = request,
            .addr = key_home_addr(launch, launch->k_base, launch->pe, request, slot),
            .stack = launch->kv_stack,
            .block = tile.width,
            .rows = tile.width,
            .rows_per_head = tile.width,
            .token = tile.first,
            .token_step = 1,
        };
        if (tile.width == 0)
            continue;
        visitor->visit(visitor, &region);
        region.tensor = TL_TENSOR_V;
        region.addr = key_home_addr(launch, launch->v_base, launch->pe, request, slot);
        region.block = 0;
        visitor->visit(visitor, &region);
    }
}

void prefill_layout(const struct tl_launch *launch, struct tl_visitor *visitor)
{
    for (uint32_t request = 0; request < launch->batch; request++) {
        show_blocks(launch, visitor, request);
        show_tiles(launch, visitor, request);
    }
}
