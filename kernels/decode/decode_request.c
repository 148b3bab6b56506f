#include "kernels/decode/decode_request.h"

#include "kernels/decode/attention.h"
#include <ahbm/kit/homes.h>
#include <ahbm/kit/placement.h>
#include <ahbm/kit/reduce.h>

uint32_t decode_rows(const struct tl_launch *launch)
{
    return launch->group_heads * launch->query_len;
}

void decode_check(struct tl *tl, const struct tl_launch *launch)
{
    if (launch->phase != TL_PHASE_DECODE)
        tl_fail(tl, "this is a decode kernel: it cannot do prefill");
    if (launch->context == 0 || launch->batch == 0 || launch->tile == 0 || launch->head_dim == 0)
        tl_fail(tl, "context (%llu), batch (%u), tile (%u) and head dimension (%u) must not be 0",
                (unsigned long long)launch->context, launch->batch, launch->tile, launch->head_dim);
    for (uint32_t request = 0; request < launch->batch; request++)
        if (launch->query_len > tl_context(launch, request))
            tl_fail(tl, "%u query positions at the end of a context of %llu", launch->query_len,
                    (unsigned long long)tl_context(launch, request));
    uint64_t rows = (uint64_t)launch->group_heads * launch->query_len;
    if (rows == 0 || rows > UINT32_MAX / (launch->head_dim + UINT64_C(2)))
        tl_fail(tl, "%u heads of %u positions are no query block", launch->group_heads,
                launch->query_len);
}

struct kit_tile_source decode_open(struct tl *tl, const struct tl_launch *launch, uint32_t request,
                                   uint32_t pe)
{
    uint32_t ranks = kit_placement_ranks(launch),
             rank = kit_placement_rank(launch, launch->cube, pe);
    uint64_t context = tl_context(launch, request);
    struct tl_tensor q = tl_ref(tl, pe, launch->q_base + request * launch->q_stride,
                                decode_rows(launch), launch->head_dim, TL_BF16);
    return (struct kit_tile_source){
        .launch = launch,
        .pe = pe,
        .k_addr = kit_homes_kv(launch, launch->k_base, pe, request),
        .v_addr = kit_homes_kv(launch, launch->v_base, pe, request),
        .context = context,
        .tokens = kit_placement_tokens(context, ranks, rank, request % ranks),
        .first = kit_placement_token(ranks, rank, request % ranks, 0),
        .stride = ranks,
        .q = q,
    };
}

void decode_store(struct tl *tl, const struct tl_launch *launch, uint32_t request,
                  const struct kit_state *state)
{
    tl_div_to(tl, state->o, state->o, state->l);
    struct tl_tensor out = tl_ref(tl, launch->pe, launch->o_base + request * launch->o_stride,
                                  state->o.rows, state->o.cols, TL_BF16);
    tl_store(tl, out, tl_cast(tl, state->o, TL_BF16));
}

struct kit_state decode_sweep(struct tl *tl, const struct tl_launch *launch, uint32_t request,
                              uint32_t pe)
{
    struct kit_tile_source source = decode_open(tl, launch, request, pe);
    source.q = tl_load(tl, source.q);
    struct kit_state state =
        kit_state_new(tl, decode_rows(launch), launch->head_dim, launch->packed);
    attention_sweep(tl, &source, &state);
    return state;
}

void decode_check_reduction(struct tl *tl, const struct tl_launch *launch)
{
    if (launch->pe_sp)
        kit_reduce_check(tl, TL_AXIS_PE, launch->reduce_pe);
    if (launch->cube_sp)
        kit_reduce_check(tl, TL_AXIS_CUBE, launch->reduce_cube);
}

bool decode_reduce(struct tl *tl, const struct tl_launch *launch, struct kit_state *state)
{
    if (launch->pe_sp && !kit_reduce_to_root(tl, TL_AXIS_PE, launch->reduce_pe, state))
        return false;
    return !launch->cube_sp || kit_reduce_to_root(tl, TL_AXIS_CUBE, launch->reduce_cube, state);
}
