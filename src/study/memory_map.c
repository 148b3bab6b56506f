#include "study/memory_map.h"

#include "kernels/placement.h"
#include "kernels/prefill_place.h"

enum { ADDRESS_ALIGN = 4096, ELEMENT_BYTES = 2 /* bf16 */, STATE_BYTES = 4 /* f32 */ };

static uint64_t align(uint64_t bytes)
{
    return (bytes + ADDRESS_ALIGN - 1) / ADDRESS_ALIGN * ADDRESS_ALIGN;
}

static uint64_t row_bytes(const struct tl_launch *launch)
{
    return (uint64_t)launch->head_dim * ELEMENT_BYTES;
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Query rows of the PE with the most. */
static uint64_t most_rows(const struct tl_launch *launch)
{
    uint64_t most = 0;
    if (launch->phase == TL_PHASE_DECODE)
        return (uint64_t)launch->group_heads * launch->query_len;
    for (uint32_t pe = 0; pe < launch->pes; pe++) {
        uint64_t rows = query_heads(launch, 0) * query_positions(launch, pe);
        most = rows > most ? rows : most;
    }
    return most;
}

/* KV tokens of the PE with the most, padded to whole tiles. */
static uint64_t most_tokens(const struct tl_launch *launch)
{
    if (launch->phase == TL_PHASE_PREFILL)
        return key_slots(launch) * launch->tile;
    uint64_t shard = ceil_div(launch->context, placement_ranks(launch));
    return ceil_div(shard, launch->tile) * launch->tile;
}

/* A vector and its sum, nothing else. */
static void place_message(struct tl_launch *launch)
{
    launch->q_base = 0;
    launch->q_stride = launch->o_stride = align(launch->message);
    launch->o_base = launch->q_stride;
}

void memory_map_place(struct tl_launch *launch)
{
    if (launch->message > 0) {
        place_message(launch);
        return;
    }
    uint64_t rows = most_rows(launch);
    launch->q_base = 0;
    launch->q_stride = align(rows * row_bytes(launch));
    launch->o_base = launch->q_base + launch->batch * launch->q_stride;
    launch->o_stride = launch->q_stride;
    launch->k_base = launch->o_base + launch->batch * launch->o_stride;
    launch->kv_stride = align(most_tokens(launch) * row_bytes(launch));
    launch->v_base = launch->k_base + launch->batch * launch->kv_stride;
    launch->s_base = launch->v_base + launch->batch * launch->kv_stride;
}

static struct footprint decode_footprint(const struct tl_launch *launch, uint32_t cube, uint32_t pe)
{
    struct footprint footprint = {0, 0, 0};
    uint32_t ranks = placement_ranks(launch), rank = placement_rank(launch, cube, pe);
    for (uint32_t request = 0; request < launch->batch; request++) {
        if (launch->pe_sp || pe == placement_worker(launch, request))
            footprint.kv_bytes +=
                2 * row_bytes(launch) *
                placement_tokens(placement_context(launch, request), ranks, rank, request % ranks);
        if (placement_pe_works(launch, cube, pe, request))
            footprint.q_bytes += row_bytes(launch) * launch->group_heads * launch->query_len;
    }
    return footprint;
}

struct footprint memory_map_footprint(const struct tl_launch *launch, uint32_t cube, uint32_t pe)
{
    if (launch->message > 0)
        return (struct footprint){.q_bytes = launch->message};
    if (launch->phase == TL_PHASE_DECODE)
        return decode_footprint(launch, cube, pe);
    return (struct footprint){
        .kv_bytes = row_bytes(launch) * 2 * launch->batch * key_tokens(launch, cube, pe),
        .q_bytes = launch->batch * row_bytes(launch) * query_heads(launch, cube) *
                   query_positions(launch, pe),
    };
}
