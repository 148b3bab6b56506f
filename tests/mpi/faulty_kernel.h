/* A tiled decode kernel, causal for several query positions, into which a fault can be put. Without
 * a fault it is right. */
#ifndef AHBM_TESTS_FAULTY_KERNEL_H
#define AHBM_TESTS_FAULTY_KERNEL_H

#include <ahbm/tl.h>

#include <ahbm/kit/placement.h>
#include <ahbm/kit/reduce.h>
#include "kernels/registry.h"
#include <ahbm/kit/state.h>
#include <ahbm/kit/tile.h>

/* X(id, text) */
#define FAULTS(X)                                                                                  \
    X(NONE, "no fault")                                                                            \
    X(DROPPED_TILE, "the second tile is not computed")                                             \
    X(SWAPPED_MERGE, "the factors of two merged states are swapped")                               \
    X(MASK_DIAGONAL, "the mask lets each query see one key of the future")                         \
    X(MASK_NARROW, "the mask hides each query's own key")                                          \
    X(STALE_BUFFER, "P of the tile before last is used again")                                     \
    X(HEAD_TWICE, "the second request's keys and values are read from the first")                  \
    X(UNMERGED_MAXIMUM, "O is not rescaled when the maximum grows")                                \
    X(STRAIGHT_KEYS, "K is taken as if it were not stored transposed")                             \
    X(WRONG_ROWS, "two rows of O change places")                                                   \
    X(NO_STORE, "O is not stored")

#define X(id, text) FAULT_##id,
enum fault { FAULTS(X) FAULT_COUNT };
#undef X

struct sweep {
    struct tl *tl;
    const struct tl_launch *launch;
    enum fault fault;
    struct kit_tile_source source;
    struct kit_state state;
    struct tl_tensor p[2];
    uint64_t first_key;
    uint32_t key_step;
};

static inline uint64_t sweep_first_query(const struct sweep *sweep)
{
    return sweep->launch->context - sweep->launch->query_len;
}

static inline uint64_t sweep_key(const struct sweep *sweep, uint64_t slot)
{
    return sweep->first_key + slot * sweep->key_step;
}

/* Whether tile `j` lies wholly after the last query. */
static inline bool sweep_future(const struct sweep *sweep, uint64_t j)
{
    return sweep_key(sweep, j * sweep->launch->tile) >= sweep->launch->context;
}

static inline struct tl_tensor sweep_mask(const struct sweep *sweep, uint64_t j, uint32_t width)
{
    uint64_t query = sweep_first_query(sweep);
    query += sweep->fault == FAULT_MASK_DIAGONAL;
    query -= sweep->fault == FAULT_MASK_NARROW && query > 0;
    return tl_causal_mask(sweep->tl, sweep->source.q.rows, width, query, sweep->launch->query_len,
                          sweep_key(sweep, j * sweep->launch->tile), sweep->key_step);
}

static inline struct tl_tensor sweep_scores(const struct sweep *sweep, uint64_t j)
{
    struct tl *tl = sweep->tl;
    uint32_t width = kit_tile_width(&sweep->source, j);
    struct tl_tensor keys = kit_tile_keys(tl, &sweep->source, j);
    if (sweep->fault == FAULT_STRAIGHT_KEYS)
        keys = tl_trans(tl, tl_transpose(tl, tl_load(tl, keys)));
    uint64_t last = sweep_key(sweep, j * sweep->launch->tile + width - 1);
    struct tl_epilogue epilogue = {.scale = kit_tile_scale(sweep->launch)};
    if (last <= sweep_first_query(sweep)) /* wholly past */
        return tl_composite(tl, sweep->source.q, keys, epilogue);
    struct tl_tensor mask = sweep_mask(sweep, j, width);
    epilogue.add = &mask;
    return tl_composite(tl, sweep->source.q, keys, epilogue);
}

static inline void sweep_tile(struct sweep *sweep, uint64_t j)
{
    struct tl *tl = sweep->tl;
    const struct kit_state *state = &sweep->state;
    struct tl_tensor scores = sweep_scores(sweep, j);
    struct tl_tensor m = tl_maximum(tl, state->m, tl_max(tl, scores));
    tl_sub_to(tl, scores, scores, m);
    tl_exp_to(tl, scores, scores);
    struct tl_tensor p = kit_tile_part(tl, sweep->p[j % 2], scores.rows, scores.cols);
    if (sweep->fault != FAULT_STALE_BUFFER || j != 2)
        tl_cast_to(tl, p, scores);
    struct tl_tensor o =
        tl_composite(tl, p, kit_tile_values(tl, &sweep->source, j), (struct tl_epilogue){0});
    struct tl_tensor corr = tl_exp(tl, tl_sub(tl, state->m, m));
    tl_mul_to(tl, state->l, state->l, corr);
    tl_add_to(tl, state->l, state->l, tl_sum(tl, scores));
    if (sweep->fault != FAULT_UNMERGED_MAXIMUM)
        tl_mul_to(tl, state->o, state->o, corr);
    tl_add_to(tl, state->o, state->o, o);
    tl_scale_to(tl, state->m, m, 1.0f);
}

static inline void sweep_all(struct sweep *sweep)
{
    uint64_t tiles = kit_tile_count(&sweep->source);
    kit_state_clear(sweep->tl, &sweep->state);
    for (uint64_t j = 0; j < tiles; j++)
        if (!sweep_future(sweep, j) && !(sweep->fault == FAULT_DROPPED_TILE && j == 1)) {
            TL_SCRATCH_SCOPE(sweep->tl)
            {
                sweep_tile(sweep, j);
            }
        }
}

static inline void faulty_merge(struct tl *tl, struct kit_state *a, struct kit_state *b,
                                enum fault fault)
{
    struct tl_tensor m = tl_maximum(tl, a->m, b->m);
    struct tl_tensor fa = tl_exp(tl, tl_sub(tl, a->m, m)), fb = tl_exp(tl, tl_sub(tl, b->m, m));
    bool swapped = fault == FAULT_SWAPPED_MERGE;
    tl_mul_to(tl, a->l, a->l, swapped ? fb : fa);
    tl_mul_to(tl, b->l, b->l, swapped ? fa : fb);
    tl_mul_to(tl, a->o, a->o, swapped ? fb : fa);
    tl_mul_to(tl, b->o, b->o, swapped ? fa : fb);
    tl_add_to(tl, a->l, a->l, b->l);
    tl_add_to(tl, a->o, a->o, b->o);
    tl_scale_to(tl, a->m, m, 1.0f);
}

static inline bool faulty_reduce(struct tl *tl, enum tl_axis axis, enum tl_reduce shape,
                                 struct kit_state *state, enum fault fault)
{
    struct kit_reduce_node node = kit_reduce_node(tl, axis, shape, tl_program_id(tl, axis));
    for (uint32_t i = 0; i < node.count; i++) {
        struct kit_state child = kit_state_new(tl, state->o.rows, state->o.cols, false);
        kit_state_receive(tl, tl_queue_to(tl, axis, node.children[i]), &child);
        faulty_merge(tl, state, &child, fault);
    }
    if (!node.root)
        kit_state_send(tl, tl_queue_to(tl, axis, node.parent), state);
    return node.root;
}

static inline struct tl_tensor faulty_rows(struct tl *tl, struct tl_tensor o, enum fault fault)
{
    if (fault != FAULT_WRONG_ROWS)
        return tl_cast(tl, o, TL_BF16);
    struct tl_tensor swapped = tl_empty(tl, o.rows, o.cols, TL_BF16);
    tl_cast_to(tl, swapped, o);
    tl_cast_to(tl, tl_rows(tl, swapped, 0, 1), tl_rows(tl, o, 1, 1));
    tl_cast_to(tl, tl_rows(tl, swapped, 1, 1), tl_rows(tl, o, 0, 1));
    return swapped;
}

static inline void faulty_request(struct tl *tl, const struct tl_launch *launch, uint32_t request,
                                  enum fault fault)
{
    uint32_t ranks = kit_placement_ranks(launch), start = request % ranks;
    uint32_t rank = kit_placement_rank(launch, launch->cube, launch->pe);
    uint32_t rows = launch->group_heads * launch->query_len;
    uint64_t kv = fault == FAULT_HEAD_TWICE && request == 1 ? 0 : request * launch->kv_stride;
    struct tl_tensor q = tl_ref(tl, launch->pe, launch->q_base + request * launch->q_stride, rows,
                                launch->head_dim, TL_BF16);
    struct sweep sweep = {.tl = tl, .launch = launch, .fault = fault, .key_step = ranks};
    sweep.source = (struct kit_tile_source){
        .launch = launch,
        .pe = launch->pe,
        .k_addr = launch->k_base + kv,
        .v_addr = launch->v_base + kv,
        .tokens = kit_placement_tokens(launch->context, ranks, rank, start),
        .q = tl_load(tl, q),
    };
    sweep.first_key = kit_placement_token(ranks, rank, start, 0);
    sweep.state = kit_state_new(tl, rows, launch->head_dim, false);
    for (int i = 0; i < 2; i++)
        sweep.p[i] = tl_empty(tl, rows, launch->tile, TL_BF16);
    sweep_all(&sweep);
    if (launch->pe_sp && !faulty_reduce(tl, TL_AXIS_PE, launch->reduce_pe, &sweep.state, fault))
        return;
    if (launch->cube_sp &&
        !faulty_reduce(tl, TL_AXIS_CUBE, launch->reduce_cube, &sweep.state, fault))
        return;
    tl_div_to(tl, sweep.state.o, sweep.state.o, sweep.state.l);
    struct tl_tensor o = faulty_rows(tl, sweep.state.o, fault);
    if (fault != FAULT_NO_STORE)
        tl_store(tl,
                 tl_ref(tl, launch->pe, launch->o_base + request * launch->o_stride, rows,
                        launch->head_dim, TL_BF16),
                 o);
}

static inline void faulty(struct tl *tl, const struct tl_launch *launch, enum fault fault)
{
    for (uint32_t request = 0; request < launch->batch; request++)
        if (kit_placement_pe_works(launch, launch->cube, launch->pe, request)) {
            TL_SCRATCH_SCOPE(tl)
            {
                faulty_request(tl, launch, request, fault);
            }
        }
}

#define X(id, text)                                                                                \
    static inline void faulty_##id(struct tl *tl, const struct tl_launch *launch)                  \
    {                                                                                              \
        faulty(tl, launch, FAULT_##id);                                                            \
    }
FAULTS(X)
#undef X

#define X(id, text) {.name = "faulty_" #id, .summary = text, .run = faulty_##id},
static const struct tl_kernel_info faulty_kernels[FAULT_COUNT] = {FAULTS(X)};
#undef X

#endif
