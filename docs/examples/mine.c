/* A kernel of one's own: FlashAttention decode on one PE (docs/kernel-author.md). Build and run:
 *
 *     cc -shared -fPIC -O2 -I include docs/examples/mine.c -o mine.so
 *     ahbm-pdes --kernel ./mine.so --context 4096
 */
#include <ahbm/kernel.h>
#include <ahbm/kit/homes.h>

#include <float.h>
#include <math.h>

enum { BF16_BYTES = 2 };

/* The running softmax state: row maximum, row sum, unnormalised output. */
struct running {
    struct tl_tensor m, l, o;
};

static struct running start(struct tl *tl, uint32_t rows, uint32_t dim)
{
    return (struct running){tl_full(tl, rows, 1, TL_F32, -FLT_MAX), tl_full(tl, rows, 1, TL_F32, 0),
                            tl_full(tl, rows, dim, TL_F32, 0)};
}

/* One tile of K [dim, width] and V [width, dim], both in HBM: the scheduler streams them. */
static void fold(struct tl *tl, const struct running *state, struct tl_tensor q, struct tl_tensor k,
                 struct tl_tensor v)
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

static void run_request(struct tl *tl, const struct tl_launch *launch, uint32_t request)
{
    uint32_t rows = launch->group_heads * launch->query_len, dim = launch->head_dim;
    uint64_t row_bytes = (uint64_t)dim * BF16_BYTES;
    uint64_t k = kit_homes_kv(launch, launch->k_base, 0, request);
    uint64_t v = kit_homes_kv(launch, launch->v_base, 0, request);
    struct tl_tensor q =
        tl_load(tl, tl_ref(tl, 0, launch->q_base + request * launch->q_stride, rows, dim, TL_BF16));
    struct running state = start(tl, rows, dim);
    for (uint64_t at = 0; at < launch->context; at += launch->tile) {
        uint64_t left = launch->context - at, offset = at * row_bytes;
        uint32_t width = left < launch->tile ? (uint32_t)left : launch->tile;
        TL_SCRATCH_SCOPE(tl)
        {
            fold(tl, &state, q, kit_homes_ref(tl, launch, 0, k + offset, dim, width),
                 kit_homes_ref(tl, launch, 0, v + offset, width, dim));
        }
    }
    tl_div_to(tl, state.o, state.o, state.l);
    tl_store(tl, tl_ref(tl, 0, launch->o_base + request * launch->o_stride, rows, dim, TL_BF16),
             tl_cast(tl, state.o, TL_BF16));
}

static void mine(struct tl *tl, const struct tl_launch *launch)
{
    if (launch->pe != 0)
        return;
    if (launch->query_len != 1)
        tl_fail(tl, "one query position per request, please, not %u", launch->query_len);
    for (uint32_t request = 0; request < launch->batch; request++)
        TL_SCRATCH_SCOPE(tl)
        {
            run_request(tl, launch, request);
        }
}

/* Others, --reduce-pe say, would change nothing, and the program refuses them. */
static uint32_t options(const struct tl_launch *launch)
{
    (void)launch; /* the same whatever it is */
    return TL_OPTION_CONTEXT | TL_OPTION_BATCH | TL_OPTION_QUERY_LEN | TL_OPTION_TILE;
}

const struct tl_kernel_info ahbm_kernel = {
    .abi = TL_KERNEL_ABI,
    .name = "mine",
    .summary = "decode on one PE, written outside",
    .run = mine,
    .phase = TL_PHASE_DECODE,
    .placement = TL_PLACE_FIXED | TL_PLACE_ONE_PE,
    .group_cubes = 1,
    .options = options,
};
