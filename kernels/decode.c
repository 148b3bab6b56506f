#include "kernels/decode.h"

#include "kernels/attention.h"
#include "kernels/placement.h"
#include "kernels/reduce.h"

/* Rows of a query block: heads and positions are folded into the M of the GEMMs. */
static uint32_t query_rows(const struct tl_launch *launch)
{
    return launch->group_heads * launch->query_len;
}

static void check_launch(struct tl *tl, const struct tl_launch *launch)
{
    if (launch->phase != TL_PHASE_DECODE)
        tl_fail(tl, "this is a decode kernel: it cannot do prefill");
    if (launch->context == 0 || launch->batch == 0 || launch->tile == 0 || launch->head_dim == 0)
        tl_fail(tl, "context (%llu), batch (%u), tile (%u) and head dimension (%u) must not be 0",
                (unsigned long long)launch->context, launch->batch, launch->tile, launch->head_dim);
    if (launch->query_len > launch->context)
        tl_fail(tl, "%u query positions at the end of a context of %llu", launch->query_len,
                (unsigned long long)launch->context);
    uint64_t rows = (uint64_t)launch->group_heads * launch->query_len;
    if (rows == 0 || rows > UINT32_MAX / (launch->head_dim + UINT64_C(2)))
        tl_fail(tl, "%u heads of %u positions are no query block", launch->group_heads,
                launch->query_len);
}

/* Request `request` as this PE meets it, with Q, K and V in the share of PE `pe` of its CUBE. */
static struct tile_source open_request(struct tl *tl, const struct tl_launch *launch,
                                       uint32_t request, uint32_t pe)
{
    uint32_t ranks = placement_ranks(launch), rank = placement_rank(launch, launch->cube, pe);
    struct tl_tensor q = tl_ref(tl, pe, launch->q_base + request * launch->q_stride,
                                query_rows(launch), launch->head_dim, TL_BF16);
    return (struct tile_source){
        .launch = launch,
        .pe = pe,
        .k_addr = launch->k_base + request * launch->kv_stride,
        .v_addr = launch->v_base + request * launch->kv_stride,
        .tokens = placement_tokens(launch->context, ranks, rank, request % ranks),
        .first = placement_token(ranks, rank, request % ranks, 0),
        .stride = ranks,
        .q = tl_load(tl, q),
    };
}

/* From the PEs of each CUBE to its root PE, from there over the CUBEs; false on a PE that handed
 * its state on. */
static bool reduce(struct tl *tl, const struct tl_launch *launch, struct state *state)
{
    if (launch->pe_sp && !reduce_to_root(tl, TL_AXIS_PE, launch->reduce_pe, state))
        return false;
    return !launch->cube_sp || reduce_to_root(tl, TL_AXIS_CUBE, launch->reduce_cube, state);
}

static void store_output(struct tl *tl, const struct tl_launch *launch, uint32_t request,
                         const struct state *state)
{
    tl_div_to(tl, state->o, state->o, state->l);
    struct tl_tensor out = tl_ref(tl, launch->pe, launch->o_base + request * launch->o_stride,
                                  state->o.rows, state->o.cols, TL_BF16);
    tl_store(tl, out, tl_cast(tl, state->o, TL_BF16));
}

static struct state sweep(struct tl *tl, const struct tl_launch *launch, uint32_t request,
                          uint32_t pe)
{
    struct tile_source source = open_request(tl, launch, request, pe);
    struct state state = state_new(tl, query_rows(launch), launch->head_dim, launch->packed);
    attention_sweep(tl, &source, &state);
    return state;
}

static void run_request(struct tl *tl, const struct tl_launch *launch, uint32_t request)
{
    TL_SCRATCH_SCOPE(tl)
    {
        struct state state = sweep(tl, launch, request, launch->pe);
        if (reduce(tl, launch, &state))
            store_output(tl, launch, request, &state);
    }
}

/* What a PE without the request does when idle PEs are redundant: the worker's sweep over the
 * worker's KV, for nothing. */
static void shadow_request(struct tl *tl, const struct tl_launch *launch, uint32_t request)
{
    TL_SCRATCH_SCOPE(tl)
    {
        sweep(tl, launch, request, placement_worker(launch, request));
    }
}

void kernel_decode(struct tl *tl, const struct tl_launch *launch)
{
    check_launch(tl, launch);
    for (uint32_t request = 0; request < launch->batch; request++) {
        if (placement_pe_works(launch, launch->cube, launch->pe, request))
            run_request(tl, launch, request);
        else if (launch->tp_redundant && placement_cube_works(launch, launch->cube, request))
            shadow_request(tl, launch, request);
    }
}

void kernel_decode_one_pe(struct tl *tl, const struct tl_launch *launch)
{
    if (!launch->one_pe || launch->group_cubes != 1)
        tl_fail(tl, "this kernel does everything on PE 0 of a group of one CUBE");
    kernel_decode(tl, launch);
}
