#include "study/regions.h"

#include "kernels/placement.h"
#include "kernels/prefill_place.h"

static uint32_t kv_heads(const struct problem *problem)
{
    return (uint32_t)problem->params->model.kv_heads;
}

/* Query heads of a group that the launch counts as requests, each with K and V of its own. */
static uint32_t heads_apart(const struct problem *problem)
{
    uint32_t heads = (uint32_t)problem->params->model.query_heads / kv_heads(problem);
    return problem->kernel->heads_apart ? heads : 1;
}

static uint32_t batch(const struct problem *problem)
{
    return problem->launch.batch / heads_apart(problem);
}

uint32_t problem_request(const struct problem *problem, uint32_t group, uint32_t request)
{
    return group / kv_heads(problem) * batch(problem) + request / heads_apart(problem);
}

uint32_t problem_kv_head(const struct problem *problem, uint32_t group, uint32_t request)
{
    uint32_t apart = heads_apart(problem);
    return group % kv_heads(problem) * apart + request % apart;
}

uint32_t problem_kv_heads(const struct problem *problem)
{
    return kv_heads(problem) * heads_apart(problem);
}

uint32_t problem_requests(const struct problem *problem)
{
    return problem_batches(problem) * batch(problem);
}

uint32_t problem_find(const struct problem *problem, uint32_t request, uint32_t kv_head,
                      uint32_t *within)
{
    uint32_t apart = heads_apart(problem);
    *within = request % batch(problem) * apart + kv_head % apart;
    return request / batch(problem) * kv_heads(problem) + kv_head / apart;
}

uint32_t problem_batches(const struct problem *problem)
{
    return (problem->groups + kv_heads(problem) - 1) / kv_heads(problem);
}

/* One PE of a group as it is mapped. */
struct seat {
    const struct problem *problem;
    uint32_t group, cube, pe;
    struct value_engine *engine;
};

/* The query block of a request, or its output: heads folded into the rows. */
static void map_queries(const struct seat *seat, enum value_tensor tensor, uint32_t request,
                        uint64_t addr)
{
    const struct tl_launch *launch = &seat->problem->launch;
    struct value_region region = {
        .addr = addr,
        .tensor = tensor,
        .layout = LAYOUT_ROWS,
        .request = problem_request(seat->problem, seat->group, request),
        .head = problem_kv_head(seat->problem, seat->group, request) * launch->group_heads,
        .head_step = 1,
        .rows = (uint64_t)launch->group_heads * launch->query_len,
        .rows_per_head = launch->query_len,
        .token_step = 1,
    };
    value_engine_map(seat->engine, seat->pe, &region);
}

/* The shard of K or V: tokens dealt out round-robin, K transposed in blocks of a tile. */
static void map_shard(const struct seat *seat, enum value_tensor tensor, uint32_t request,
                      uint64_t addr)
{
    const struct tl_launch *launch = &seat->problem->launch;
    uint32_t ranks = placement_ranks(launch), start = request % ranks;
    uint32_t rank = placement_rank(launch, seat->cube, seat->pe);
    uint64_t tokens = placement_tokens(placement_context(launch, request), ranks, rank, start);
    if (tokens == 0)
        return;
    struct value_region region = {
        .addr = addr,
        .tensor = tensor,
        .layout = tensor == VALUE_K ? LAYOUT_TRANSPOSED : LAYOUT_ROWS,
        .block = launch->tile,
        .request = problem_request(seat->problem, seat->group, request),
        .head = problem_kv_head(seat->problem, seat->group, request),
        .rows = tokens,
        .rows_per_head = tokens,
        .token = placement_token(ranks, rank, start, 0),
        .token_step = ranks,
    };
    value_engine_map(seat->engine, seat->pe, &region);
}

/* Whether O is looked for here: of a kernel that stores it everywhere, on the root only. */
static bool may_store(const struct seat *seat)
{
    const struct tl_launch *launch = &seat->problem->launch;
    return !seat->problem->kernel->stores_everywhere ||
           (seat->cube == launch->group_cubes - 1 && seat->pe == launch->pes - 1);
}

static void map_request(const struct seat *seat, uint32_t request)
{
    const struct tl_launch *launch = &seat->problem->launch;
    uint64_t kv_offset = request * launch->kv_stride;
    if (placement_pe_works(launch, seat->cube, seat->pe, request))
        map_queries(seat, VALUE_Q, request, launch->q_base + request * launch->q_stride);
    if (may_store(seat))
        map_queries(seat, VALUE_O, request, launch->o_base + request * launch->o_stride);
    if (launch->pe_sp || seat->pe == placement_worker(launch, request)) {
        map_shard(seat, VALUE_K, request, launch->k_base + kv_offset);
        map_shard(seat, VALUE_V, request, launch->v_base + kv_offset);
    }
}

/* ---- prefill (kernels/prefill_place.h) ---- */

/* Q or O of one query block: [heads, positions, d] with the heads of the CUBE. */
static void map_block(const struct seat *seat, enum value_tensor tensor, uint32_t request,
                      uint64_t addr, const struct query_block *block)
{
    const struct tl_launch *launch = &seat->problem->launch;
    uint32_t heads = query_heads(launch, seat->cube);
    struct value_region region = {
        .addr = addr + block->before * heads * launch->head_dim * VALUE_BYTES,
        .tensor = tensor,
        .layout = LAYOUT_ROWS,
        .request = problem_request(seat->problem, seat->group, request),
        .head =
            problem_kv_head(seat->problem, seat->group, request) * launch->group_heads + seat->cube,
        .head_step = launch->group_cubes,
        .rows = (uint64_t)heads * block->count,
        .rows_per_head = block->count,
        .token = block->first,
        .token_step = 1,
    };
    value_engine_map(seat->engine, seat->pe, &region);
}

static void map_blocks(const struct seat *seat, uint32_t request)
{
    const struct tl_launch *launch = &seat->problem->launch;
    if (query_heads(launch, seat->cube) == 0)
        return;
    for (uint64_t i = 0; i < query_blocks(launch, seat->pe); i++) {
        struct query_block block = query_block(launch, seat->pe, i);
        map_block(seat, VALUE_Q, request, launch->q_base + request * launch->q_stride, &block);
        map_block(seat, VALUE_O, request, launch->o_base + request * launch->o_stride, &block);
    }
}

/* K or V of one tile. */
static void map_tile(const struct seat *seat, enum value_tensor tensor, uint32_t request,
                     uint64_t addr, struct key_tile tile)
{
    struct value_region region = {
        .addr = addr,
        .tensor = tensor,
        .layout = tensor == VALUE_K ? LAYOUT_TRANSPOSED : LAYOUT_ROWS,
        .block = tile.width,
        .request = problem_request(seat->problem, seat->group, request),
        .head = problem_kv_head(seat->problem, seat->group, request),
        .rows = tile.width,
        .rows_per_head = tile.width,
        .token = tile.first,
        .token_step = 1,
    };
    value_engine_map(seat->engine, seat->pe, &region);
}

static void map_tiles(const struct seat *seat, uint32_t request)
{
    const struct tl_launch *launch = &seat->problem->launch;
    for (uint64_t slot = 0; slot < key_slots(launch); slot++) {
        struct key_tile tile = key_tile(launch, seat->cube, seat->pe, slot);
        uint64_t offset = request * launch->kv_stride;
        offset += slot * launch->tile * launch->head_dim * VALUE_BYTES;
        if (tile.width == 0)
            continue;
        map_tile(seat, VALUE_K, request, launch->k_base + offset, tile);
        map_tile(seat, VALUE_V, request, launch->v_base + offset, tile);
    }
}

void problem_map(const struct problem *problem, uint32_t group, uint32_t within,
                 struct value_engine *engine)
{
    for (uint32_t pe = 0; pe < problem->launch.pes; pe++) {
        struct seat seat = {problem, group, within, pe, engine};
        for (uint32_t request = 0; request < problem->launch.batch; request++)
            if (problem->launch.phase == TL_PHASE_PREFILL) {
                map_blocks(&seat, request);
                map_tiles(&seat, request);
            } else {
                map_request(&seat, request);
            }
    }
}
