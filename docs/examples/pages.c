/* A kernel with a layout of its own: the KV cache lies in pages, dealt at random over the PEs of a
 * CUBE; PE 0 reads them through the PE mesh (docs/kernel-author.md). Build and run:
 *
 *     cc -shared -fPIC -O2 -I include docs/examples/pages.c -o pages.so
 *     ahbm-pdes --kernel ./pages.so --context 4096 --verify --kernel-option page=64
 */
#include <ahbm/kernel.h>

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { BF16_BYTES = 2, ALIGN = 4096 };

/* Options of its own: --kernel-option page=64. */
enum { OWN_PAGE };
static const struct tl_own_option own[] = {
    [OWN_PAGE] =
        {.name = "page", .help = "tokens of a page", .least = 16, .most = 1024, .initial = 256},
    {0},
};

static uint32_t page_tokens(const struct tl_launch *launch)
{
    return (uint32_t)launch->own[OWN_PAGE];
}

/* ---- which PE has which page ---- */

static uint64_t pages_of(const struct tl_launch *launch, uint32_t request)
{
    return (tl_context(launch, request) + page_tokens(launch) - 1) / page_tokens(launch);
}

static uint32_t owner(const struct tl_launch *launch, uint32_t request, uint64_t page)
{
    uint64_t x = ((uint64_t)request << 32 | page) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(x >> 40) % launch->pes;
}

static uint32_t width(const struct tl_launch *launch, uint32_t request, uint64_t page)
{
    uint64_t left = tl_context(launch, request) - page * page_tokens(launch);
    return left < page_tokens(launch) ? (uint32_t)left : page_tokens(launch);
}

static uint64_t page_bytes(const struct tl_launch *launch)
{
    return (uint64_t)page_tokens(launch) * launch->head_dim * BF16_BYTES;
}

/* A page's place among the request's pages, the same on all PEs; most places of a PE stay empty. */
static uint64_t offset(const struct tl_launch *launch, uint32_t request, uint64_t page)
{
    return request * launch->kv_stride + page * page_bytes(launch);
}

/* ---- what the program asks ---- */

static void choose(struct tl_launch *launch)
{
    launch->phase = TL_PHASE_DECODE;
    launch->query_len = launch->query_len > 0 ? launch->query_len : 1;
    launch->tile = page_tokens(launch);
    launch->ring_depth = launch->query_block = 0;
    uint64_t rows = (uint64_t)launch->group_heads * launch->query_len;
    launch->q_base = 0;
    launch->q_stride = launch->o_stride =
        (rows * launch->head_dim * BF16_BYTES + ALIGN - 1) / ALIGN * ALIGN;
    launch->o_base = launch->batch * launch->q_stride;
    launch->k_base = 2 * launch->o_base;
    launch->kv_stride =
        (launch->context + page_tokens(launch) - 1) / page_tokens(launch) * page_bytes(launch);
    launch->v_base = launch->k_base + launch->batch * launch->kv_stride;
}

static bool check(const struct tl_launch *launch, char *why, size_t size)
{
    snprintf(why, size, "--query-len: pages are not masked: one position");
    return launch->query_len == 1;
}

static void show_page(const struct tl_launch *launch, struct tl_visitor *visitor, uint32_t request,
                      uint64_t page)
{
    struct tl_region region = {.tensor = TL_TENSOR_K,
                               .request = request,
                               .addr = launch->k_base + offset(launch, request, page),
                               .block = page_tokens(launch), /* transposed */
                               .rows = width(launch, request, page),
                               .rows_per_head = width(launch, request, page),
                               .token = page * page_tokens(launch),
                               .token_step = 1};
    visitor->visit(visitor, &region);
    region.tensor = TL_TENSOR_V;
    region.addr = launch->v_base + offset(launch, request, page);
    region.block = 0;
    visitor->visit(visitor, &region);
}

static void layout(const struct tl_launch *launch, struct tl_visitor *visitor)
{
    for (uint32_t request = 0; request < launch->batch; request++) {
        struct tl_region region = {.tensor = TL_TENSOR_Q,
                                   .request = request,
                                   .addr = launch->q_base + request * launch->q_stride,
                                   .head_step = 1,
                                   .rows = launch->group_heads,
                                   .rows_per_head = 1,
                                   .token_step = 1};
        if (launch->pe == 0) {
            visitor->visit(visitor, &region);
            region.tensor = TL_TENSOR_O;
            region.addr = launch->o_base + request * launch->o_stride;
            visitor->visit(visitor, &region);
        }
        for (uint64_t page = 0; page < pages_of(launch, request); page++)
            if (owner(launch, request, page) == launch->pe)
                show_page(launch, visitor, request, page);
    }
}

/* ---- the kernel: FlashAttention decode, a page at a time ---- */

struct running {
    struct tl_tensor m, l, o;
};

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
    uint32_t rows = launch->group_heads, dim = launch->head_dim;
    struct tl_tensor q =
        tl_load(tl, tl_ref(tl, 0, launch->q_base + request * launch->q_stride, rows, dim, TL_BF16));
    struct running state = {tl_full(tl, rows, 1, TL_F32, -FLT_MAX), tl_full(tl, rows, 1, TL_F32, 0),
                            tl_full(tl, rows, dim, TL_F32, 0)};
    for (uint64_t page = 0; page < pages_of(launch, request); page++) {
        uint32_t pe = owner(launch, request, page), wide = width(launch, request, page);
        uint64_t at = offset(launch, request, page);
        TL_SCRATCH_SCOPE(tl)
        {
            fold(tl, &state, q, tl_ref(tl, pe, launch->k_base + at, dim, wide, TL_BF16),
                 tl_ref(tl, pe, launch->v_base + at, wide, dim, TL_BF16));
        }
    }
    tl_div_to(tl, state.o, state.o, state.l);
    tl_store(tl, tl_ref(tl, 0, launch->o_base + request * launch->o_stride, rows, dim, TL_BF16),
             tl_cast(tl, state.o, TL_BF16));
}

static void pages(struct tl *tl, const struct tl_launch *launch)
{
    for (uint32_t request = 0; launch->pe == 0 && request < launch->batch; request++)
        TL_SCRATCH_SCOPE(tl)
        {
            run_request(tl, launch, request);
        }
}

const struct tl_kernel_info ahbm_kernel = {
    .abi = TL_KERNEL_ABI,
    .name = "pages",
    .summary = "decode of a KV cache in pages, dealt at random over the PEs",
    .run = pages,
    .phase = TL_PHASE_DECODE,
    .placement = TL_PLACE_FIXED,
    .group_cubes = 1,
    .choose = choose,
    .check = check,
    .layout = layout,
    .own = own,
};
