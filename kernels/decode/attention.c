#include "kernels/decode/attention.h"

/* S becomes P = exp(S - m) where it lies; returned rounded to bf16. */
static struct tl_tensor probabilities(struct tl *tl, struct tl_tensor scores, struct tl_tensor m)
{
    tl_sub_to(tl, scores, scores, m);
    tl_exp_to(tl, scores, scores);
    return tl_cast(tl, scores, TL_BF16);
}

/* All tokens in one tile: no running state to merge with. Here as below P . V starts as soon as P
 * is there; the row sums are formed beside it. */
static void sweep_one_shot(struct tl *tl, const struct kit_tile_pair *pair,
                           const struct kit_state *state)
{
    kit_tile_start_values(tl, pair, 0);
    struct tl_tensor scores = kit_tile_scores(tl, pair, 0);
    kit_tile_mask(tl, &pair->source, 0, scores);
    tl_max_to(tl, state->m, scores);
    struct tl_tensor p = probabilities(tl, scores, state->m);
    kit_tile_output(tl, pair, 0, state->o, p);
    tl_sum_to(tl, state->l, scores);
}

/* One tile of a running sweep: `m` is the maximum so far, `m_new` receives the new one. */
static void merge_tile(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j,
                       const struct kit_state *state, struct tl_tensor m, struct tl_tensor m_new)
{
    struct tl_tensor scores = kit_tile_scores(tl, pair, j);
    kit_tile_mask(tl, &pair->source, j, scores);
    tl_maximum_to(tl, m_new, m, tl_max(tl, scores));
    struct tl_tensor p = probabilities(tl, scores, m_new);
    struct tl_tensor o = tl_empty(tl, state->o.rows, state->o.cols, TL_F32);
    kit_tile_output(tl, pair, j, o, p);
    struct tl_tensor corr = tl_sub(tl, m, m_new);
    tl_exp_to(tl, corr, corr);
    tl_mul_to(tl, state->l, state->l, corr);
    tl_add_to(tl, state->l, state->l, tl_sum(tl, scores));
    tl_mul_to(tl, state->o, state->o, corr);
    tl_add_to(tl, state->o, state->o, o);
}

/* A state whose maximum changes between two buffers with every tile, so that after the last one it
 * is the state's. */
struct running {
    struct kit_state state;
    struct tl_tensor m[2];
    uint64_t tiles;
};

static struct running running_new(struct tl *tl, const struct kit_state *state, uint64_t tiles)
{
    return (struct running){*state, {state->m, tl_empty(tl, state->m.rows, 1, TL_F32)}, tiles};
}

/* The maximum of what came before tile `j`. */
static struct tl_tensor maximum_before(const struct running *running, uint64_t j)
{
    return running->m[(running->tiles - j) % 2];
}

/* Tiles `first` and later, the scores of which have been started. The scores of tile j + 1 are
 * started before the softmax of tile j. */
static void merge_tiles(struct tl *tl, const struct kit_tile_pair *pair, uint64_t first,
                        const struct running *running)
{
    for (uint64_t j = first; j < running->tiles; j++) {
        kit_tile_start_values(tl, pair, j);
        if (j + 1 < running->tiles)
            kit_tile_start_keys(tl, pair, j + 1);
        TL_SCRATCH_SCOPE(tl)
        {
            merge_tile(tl, pair, j, &running->state, maximum_before(running, j),
                       maximum_before(running, j + 1));
        }
    }
}

static void sweep_tiled(struct tl *tl, const struct kit_tile_pair *pair,
                        const struct kit_state *state)
{
    struct running running = running_new(tl, state, kit_tile_count(&pair->source));
    struct kit_state start = *state;
    start.m = maximum_before(&running, 0);
    kit_state_clear(tl, &start);
    merge_tiles(tl, pair, 0, &running);
}

/* The buffers of the two-composite form, in turn: P and the correction of a tile. */
struct merge_buffers {
    struct tl_tensor p[2], corr[2];
};

static void start_merge(struct tl *tl, const struct kit_tile_source *source,
                        const struct kit_state *state, const struct merge_buffers *buffers,
                        uint64_t j)
{
    struct tl_tensor p =
        kit_tile_part(tl, buffers->p[j % 2], source->q.rows, kit_tile_width(source, j));
    tl_softmax_merge(tl, p, state->m, state->l, buffers->corr[j % 2], source->q,
                     kit_tile_keys(tl, source, j), kit_tile_scale(source->launch));
}

static void start_output(struct tl *tl, const struct kit_tile_source *source,
                         const struct kit_state *state, const struct merge_buffers *buffers,
                         uint64_t j)
{
    struct tl_tensor p =
        kit_tile_part(tl, buffers->p[j % 2], source->q.rows, kit_tile_width(source, j));
    struct tl_epilogue epilogue = {.rescale = &buffers->corr[j % 2]};
    tl_composite_to(tl, state->o, p, kit_tile_values(tl, source, j), epilogue);
}

/* Two composites per tile and nothing else; the first of tile j + 1 goes before the second of j. */
static void sweep_merges(struct tl *tl, const struct kit_tile_source *source,
                         const struct kit_state *state, uint64_t tiles)
{
    uint32_t rows = source->q.rows;
    struct merge_buffers buffers;
    for (uint32_t i = 0; i < 2; i++) {
        buffers.p[i] = tl_empty(tl, rows, kit_tile_width(source, 0), TL_BF16);
        buffers.corr[i] = tl_empty(tl, rows, 1, TL_F32);
    }
    start_merge(tl, source, state, &buffers, 0);
    for (uint64_t j = 0; j < tiles; j++) {
        if (j + 1 < tiles)
            start_merge(tl, source, state, &buffers, j + 1);
        start_output(tl, source, state, &buffers, j);
    }
}

/* The composite cannot mask: the last tiles, those that need it, are merged by commands. */
static void sweep_softmax_merge(struct tl *tl, const struct kit_tile_source *source,
                                const struct kit_state *state)
{
    uint64_t tiles = kit_tile_count(source), plain = tiles;
    while (plain > 0 && kit_tile_needs_mask(source, plain - 1))
        plain--;
    if (plain == tiles) {
        kit_state_clear(tl, state);
        sweep_merges(tl, source, state, tiles);
        return;
    }
    struct running running = running_new(tl, state, tiles);
    struct kit_state start = *state;
    start.m = maximum_before(&running, plain);
    kit_state_clear(tl, &start);
    if (plain > 0)
        sweep_merges(tl, source, &start, plain);
    struct kit_tile_pair pair = kit_tile_pair_new(tl, source);
    kit_tile_start_keys(tl, &pair, plain);
    merge_tiles(tl, &pair, plain, &running);
}

static enum tl_form form_of(struct tl *tl, const struct kit_tile_source *source)
{
    const struct tl_launch *launch = source->launch;
    uint64_t tiles = kit_tile_count(source);
    if (launch->form == TL_FORM_AUTO)
        return tiles == 1 ? TL_FORM_ONE_SHOT : TL_FORM_TILED;
    if (launch->form == TL_FORM_ONE_SHOT && tiles > 1)
        tl_fail(tl,
                "the one-shot form takes one block of K, but %llu tokens on this PE are %llu "
                "blocks of %u",
                (unsigned long long)source->tokens, (unsigned long long)tiles, launch->tile);
    if (launch->form == TL_FORM_SOFTMAX_MERGE && launch->gemm == TL_GEMM_DOT)
        tl_fail(tl, "the softmax_merge form is made of composites: it cannot use dots");
    return launch->form;
}

void attention_start(struct tl *tl, const struct kit_tile_pair *pair)
{
    if (pair->source.tokens > 0)
        kit_tile_start_keys(tl, pair, 0);
}

void attention_finish(struct tl *tl, const struct kit_tile_pair *pair,
                      const struct kit_state *state)
{
    if (pair->source.tokens == 0)
        kit_state_clear(tl, state);
    else if (form_of(tl, &pair->source) == TL_FORM_ONE_SHOT)
        sweep_one_shot(tl, pair, state);
    else
        sweep_tiled(tl, pair, state);
}

void attention_sweep(struct tl *tl, const struct kit_tile_source *source,
                     const struct kit_state *state)
{
    if (source->tokens == 0) {
        kit_state_clear(tl, state);
    } else if (form_of(tl, source) == TL_FORM_SOFTMAX_MERGE) {
        sweep_softmax_merge(tl, source, state);
    } else {
        struct kit_tile_pair pair = kit_tile_pair_new(tl, source);
        attention_start(tl, &pair);
        attention_finish(tl, &pair, state);
    }
}
