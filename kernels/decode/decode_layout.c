#include "kernels/decode/decode_layout.h"

#include <ahbm/kit/homes.h>
#include <ahbm/kit/placement.h>

enum { DEFAULT_TILE = 1024 };

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t query_rows(const struct tl_launch *launch)
{
    return (uint64_t)launch->group_heads * launch->query_len;
}

void decode_choose(struct tl_launch *launch)
{
    launch->phase = TL_PHASE_DECODE;
    launch->query_len = launch->query_len > 0 ? launch->query_len : 1;
    launch->tile = launch->tile > 0 ? launch->tile : DEFAULT_TILE;
    launch->query_block = launch->ring_depth = 0;
    if (launch->message > 0) {
        kit_homes_choose_message(launch);
        return;
    }
    uint64_t shard = ceil_div(launch->context, kit_placement_ranks(launch));
    kit_homes_choose(launch, query_rows(launch), ceil_div(shard, launch->tile) * launch->tile);
}

/* Q or O of a request: heads folded into the rows. */
static void show_queries(const struct tl_launch *launch, struct tl_visitor *visitor,
                         enum tl_tensor_name tensor, uint32_t request)
{
    bool out = tensor == TL_TENSOR_O;
    struct tl_region region = {
        .tensor = tensor,
        .request = request,
        .addr = out ? launch->o_base + request * launch->o_stride
                    : launch->q_base + request * launch->q_stride,
        .head_step = 1,
        .rows = query_rows(launch),
        .rows_per_head = launch->query_len,
        .token_step = 1,
    };
    visitor->visit(visitor, &region);
}

/* The shard of K and V: tokens dealt out round-robin, K transposed in blocks of a tile. */
static void show_shard(const struct tl_launch *launch, struct tl_visitor *visitor, uint32_t request)
{
    uint32_t ranks = kit_placement_ranks(launch), start = request % ranks;
    uint32_t rank = kit_placement_rank(launch, launch->cube, launch->pe);
    uint64_t tokens = kit_placement_tokens(tl_context(launch, request), ranks, rank, start);
    struct tl_region region = {
        .tensor = TL_TENSOR_K,
        .request = request,
        .addr = kit_homes_kv(launch, launch->k_base, launch->pe, request),
        .stack = launch->kv_stack,
        .block = launch->tile,
        .rows = tokens,
        .rows_per_head = tokens,
        .token = kit_placement_token(ranks, rank, start, 0),
        .token_step = ranks,
    };
    if (tokens == 0)
        return;
    visitor->visit(visitor, &region);
    region.tensor = TL_TENSOR_V;
    region.addr = kit_homes_kv(launch, launch->v_base, launch->pe, request);
    region.block = 0;
    visitor->visit(visitor, &region);
}

static void show_message(const struct tl_launch *launch, struct tl_visitor *visitor)
{
    struct tl_region region = {.tensor = TL_DATA, .addr = launch->q_base, .bytes = launch->message};
    visitor->visit(visitor, &region);
}

static void show_all(const struct tl_launch *launch, struct tl_visitor *visitor, bool stores)
{
    if (launch->message > 0) {
        show_message(launch, visitor);
        return;
    }
    for (uint32_t request = 0; request < launch->batch; request++) {
        if (kit_placement_pe_works(launch, launch->cube, launch->pe, request))
            show_queries(launch, visitor, TL_TENSOR_Q, request);
        if (stores)
            show_queries(launch, visitor, TL_TENSOR_O, request);
        if (launch->pe_sp || launch->pe == kit_placement_worker(launch, request))
            show_shard(launch, visitor, request);
    }
}

void decode_layout(const struct tl_launch *launch, struct tl_visitor *visitor)
{
    show_all(launch, visitor, true);
}

void decode_layout_root(const struct tl_launch *launch, struct tl_visitor *visitor)
{
    bool root = launch->cube == launch->group_cubes - 1 && launch->pe == launch->pes - 1;
    show_all(launch, visitor, root);
}
