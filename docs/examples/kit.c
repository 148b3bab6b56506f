/* A kernel made of the kit: what the shipped kernels use is there for yours (ahbm/kit). A decode
 * whose KV cache is split over the PEs of a CUBE; each sweeps what it has, and the states are
 * reduced to one PE (docs/kernel-author.md). Build and run:
 *
 *     cc -shared -fPIC -O2 -I include docs/examples/kit.c -o kit.so
 *     ahbm-pdes --kernel ./kit.so --context 4096 --verify --reduce-pe tree
 */
#include <ahbm/kernel.h>
#include <ahbm/kit/reduce.h>
#include <ahbm/kit/state.h>
#include <ahbm/kit/tile.h>

/* What this PE has of a request: of P PEs, token i lies on number (request + i) mod P. */
static struct kit_tile_source open_request(struct tl *tl, const struct tl_launch *launch,
                                           uint32_t request)
{
    uint64_t first = (launch->pe + launch->pes - request % launch->pes) % launch->pes;
    uint64_t context = tl_context(launch, request);
    struct tl_tensor q = tl_ref(tl, launch->pe, launch->q_base + request * launch->q_stride,
                                launch->group_heads, launch->head_dim, TL_BF16);
    return (struct kit_tile_source){
        .launch = launch,
        .pe = launch->pe,
        .k_addr = launch->k_base + request * launch->kv_stride,
        .v_addr = launch->v_base + request * launch->kv_stride,
        .tokens = context > first ? (context - first + launch->pes - 1) / launch->pes : 0,
        .context = context,
        .first = first,
        .stride = launch->pes,
        .q = tl_load(tl, q),
    };
}

/* The state of tile `j` alone is merged into `state`. */
static void fold(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j,
                 const struct kit_state *state)
{
    kit_tile_start_keys(tl, pair, j);
    kit_tile_start_values(tl, pair, j);
    struct tl_tensor scores = kit_tile_scores(tl, pair, j);
    struct kit_state tile = kit_state_new(tl, state->o.rows, state->o.cols, false);
    tl_max_to(tl, tile.m, scores);
    tl_sub_to(tl, scores, scores, tile.m);
    tl_exp_to(tl, scores, scores);
    tl_sum_to(tl, tile.l, scores);
    kit_tile_output(tl, pair, j, tile.o, tl_cast(tl, scores, TL_BF16));
    kit_state_absorb(tl, state, &tile);
}

static void sweep(struct tl *tl, const struct kit_tile_source *source,
                  const struct kit_state *state)
{
    kit_state_clear(tl, state);
    if (source->tokens == 0)
        return;
    struct kit_tile_pair pair = kit_tile_pair_new(tl, source);
    for (uint64_t j = 0; j < kit_tile_count(source); j++)
        TL_SCRATCH_SCOPE(tl)
        {
            fold(tl, &pair, j, state);
        }
}

static void run_request(struct tl *tl, const struct tl_launch *launch, uint32_t request)
{
    struct kit_tile_source source = open_request(tl, launch, request);
    uint32_t rows = launch->group_heads, dim = launch->head_dim;
    struct kit_state state = kit_state_new(tl, rows, dim, launch->packed);
    sweep(tl, &source, &state);
    if (!kit_reduce_to_root(tl, TL_AXIS_PE, launch->reduce_pe, &state))
        return;
    tl_div_to(tl, state.o, state.o, state.l);
    tl_store(
        tl, tl_ref(tl, launch->pe, launch->o_base + request * launch->o_stride, rows, dim, TL_BF16),
        tl_cast(tl, state.o, TL_BF16));
}

static void kit(struct tl *tl, const struct tl_launch *launch)
{
    if (launch->query_len != 1)
        tl_fail(tl, "--query-len: one position per request, not %u", launch->query_len);
    kit_reduce_check(tl, TL_AXIS_PE, launch->reduce_pe);
    for (uint32_t request = 0; request < launch->batch; request++)
        TL_SCRATCH_SCOPE(tl)
        {
            run_request(tl, launch, request);
        }
}

const struct tl_kernel_info ahbm_kernel = {
    .abi = TL_KERNEL_ABI,
    .name = "kit",
    .summary = "decode over the PEs of a CUBE, made of the kit",
    .run = kit,
    .phase = TL_PHASE_DECODE,
    .placement = TL_PLACE_FIXED | TL_PLACE_PE_SP,
    .group_cubes = 1,
};
