/* A decode made of the kit: the keys are split as --case says, each PE sweeps its own, and the
 * running softmax states are reduced to the root (docs/kernel-author.md). Build and run:
 *
 *     cc -shared -fPIC -O2 -I include docs/examples/split.c -o split.so
 *     ahbm-pdes --kernel ./split.so --verify
 */
#include <ahbm/kernel.h>
#include <ahbm/kit/homes.h>
#include <ahbm/kit/placement.h>
#include <ahbm/kit/reduce.h>
#include <ahbm/kit/state.h>

#include <math.h>

enum { BF16_BYTES = 2 };

/* One tile of K [dim, width] and V [width, dim]. */
static void fold(struct tl *tl, const struct kit_state *state, struct tl_tensor q,
                 struct tl_tensor k, struct tl_tensor v)
{
    float scale = 1.0f / sqrtf((float)q.cols);
    struct tl_tensor scores = tl_composite(tl, q, k, (struct tl_epilogue){.scale = scale});
    struct tl_tensor m_new = tl_maximum(tl, state->m, tl_max(tl, scores));
    struct tl_tensor p = tl_exp(tl, tl_sub(tl, scores, m_new));
    struct tl_tensor corr = tl_exp(tl, tl_sub(tl, state->m, m_new));
    tl_mul_to(tl, state->l, state->l, corr);
    tl_add_to(tl, state->l, state->l, tl_sum(tl, p));
    tl_composite_to(tl, state->o, tl_cast(tl, p, TL_BF16), v,
                    (struct tl_epilogue){.rescale = &corr});
    tl_maximum_to(tl, state->m, state->m, m_new);
}

/* The tokens of a request that this PE has. */
static void sweep(struct tl *tl, const struct tl_launch *launch, uint32_t request,
                  struct tl_tensor q, const struct kit_state *state)
{
    uint32_t ranks = kit_placement_ranks(launch), dim = launch->head_dim;
    uint32_t rank = kit_placement_rank(launch, launch->cube, launch->pe);
    uint64_t tokens =
        kit_placement_tokens(tl_context(launch, request), ranks, rank, request % ranks);
    uint64_t k = kit_homes_kv(launch, launch->k_base, launch->pe, request);
    uint64_t v = kit_homes_kv(launch, launch->v_base, launch->pe, request);
    for (uint64_t at = 0; at < tokens; at += launch->tile) {
        uint64_t offset = at * dim * BF16_BYTES;
        uint32_t width = tokens - at < launch->tile ? (uint32_t)(tokens - at) : launch->tile;
        TL_SCRATCH_SCOPE(tl)
        {
            fold(tl, state, q, kit_homes_ref(tl, launch, launch->pe, k + offset, dim, width),
                 kit_homes_ref(tl, launch, launch->pe, v + offset, width, dim));
        }
    }
}

/* Over the levels that the keys are split over; true on the PE that then has all of it. */
static bool reduce(struct tl *tl, const struct tl_launch *launch, struct kit_state *state)
{
    if (launch->pe_sp && !kit_reduce_to_root(tl, TL_AXIS_PE, launch->reduce_pe, state))
        return false;
    return !launch->cube_sp || kit_reduce_to_root(tl, TL_AXIS_CUBE, launch->reduce_cube, state);
}

static void run_request(struct tl *tl, const struct tl_launch *launch, uint32_t request)
{
    uint32_t rows = launch->group_heads, dim = launch->head_dim;
    struct tl_tensor q =
        tl_load(tl, tl_ref(tl, launch->pe, launch->q_base + request * launch->q_stride, rows, dim,
                           TL_BF16));
    struct kit_state state = kit_state_new(tl, rows, dim, launch->packed);
    kit_state_clear(tl, &state);
    sweep(tl, launch, request, q, &state);
    if (!reduce(tl, launch, &state))
        return;
    tl_div_to(tl, state.o, state.o, state.l);
    tl_store(
        tl, tl_ref(tl, launch->pe, launch->o_base + request * launch->o_stride, rows, dim, TL_BF16),
        tl_cast(tl, state.o, TL_BF16));
}

static void split(struct tl *tl, const struct tl_launch *launch)
{
    if (launch->query_len != 1)
        tl_fail(tl, "one query position per request, please, not %u", launch->query_len);
    for (uint32_t request = 0; request < launch->batch; request++)
        if (kit_placement_pe_works(launch, launch->cube, launch->pe, request))
            TL_SCRATCH_SCOPE(tl)
            {
                run_request(tl, launch, request);
            }
}

const struct tl_kernel_info ahbm_kernel = {
    .abi = TL_KERNEL_ABI,
    .name = "split",
    .summary = "decode over all PEs, made of the kit",
    .run = split,
    .phase = TL_PHASE_DECODE,
};
