#include <ahbm/kit/tile.h>

#include <math.h>

#include <ahbm/kit/homes.h>

enum { BF16_BYTES = 2 };

/* The ways to compute the two GEMMs; NULL where there is nothing to start. */
struct tile_gemm {
    void (*start_keys)(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j);
    void (*start_values)(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j);
    struct tl_tensor (*scores)(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j);
    void (*output)(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j,
                   struct tl_tensor out, struct tl_tensor p);
};

uint64_t kit_tile_count(const struct kit_tile_source *source)
{
    uint32_t tile = source->launch->tile;
    return source->tokens / tile + (source->tokens % tile != 0);
}

uint32_t kit_tile_width(const struct kit_tile_source *source, uint64_t j)
{
    uint64_t rest = source->tokens - j * source->launch->tile;
    return rest < source->launch->tile ? (uint32_t)rest : source->launch->tile;
}

/* Bytes of one block of K or V. */
static uint64_t block_bytes(const struct tl_launch *launch)
{
    return (uint64_t)launch->tile * launch->head_dim * BF16_BYTES;
}

struct tl_tensor kit_tile_keys(struct tl *tl, const struct kit_tile_source *source, uint64_t j)
{
    const struct tl_launch *launch = source->launch;
    return kit_homes_ref(tl, launch, source->pe, source->k_addr + j * block_bytes(launch),
                         launch->head_dim, kit_tile_width(source, j));
}

struct tl_tensor kit_tile_values(struct tl *tl, const struct kit_tile_source *source, uint64_t j)
{
    const struct tl_launch *launch = source->launch;
    return kit_homes_ref(tl, launch, source->pe, source->v_addr + j * block_bytes(launch),
                         kit_tile_width(source, j), launch->head_dim);
}

static uint64_t first_query(const struct kit_tile_source *source)
{
    return source->context - source->launch->query_len;
}

static uint64_t first_key(const struct kit_tile_source *source, uint64_t j)
{
    return source->first + j * source->launch->tile * source->stride;
}

bool kit_tile_needs_mask(const struct kit_tile_source *source, uint64_t j)
{
    uint64_t last = first_key(source, j) + (kit_tile_width(source, j) - 1) * source->stride;
    return last > first_query(source);
}

void kit_tile_mask(struct tl *tl, const struct kit_tile_source *source, uint64_t j,
                   struct tl_tensor scores)
{
    const struct tl_launch *launch = source->launch;
    if (!kit_tile_needs_mask(source, j))
        return;
    TL_SCRATCH_SCOPE(tl)
    {
        struct tl_tensor mask =
            tl_causal_mask(tl, scores.rows, scores.cols, first_query(source), launch->query_len,
                           first_key(source, j), source->stride);
        tl_add_to(tl, scores, scores, mask);
    }
}

float kit_tile_scale(const struct tl_launch *launch)
{
    return 1.0f / sqrtf((float)launch->head_dim);
}

struct tl_tensor kit_tile_part(struct tl *tl, struct tl_tensor buffer, uint32_t rows, uint32_t cols)
{
    if (buffer.rows == rows && buffer.cols == cols)
        return buffer;
    struct tl_tensor flat = tl_view(tl, buffer, buffer.rows * buffer.cols, 1);
    return tl_view(tl, tl_rows(tl, flat, 0, rows * cols), rows, cols);
}

/* S of tile `j` in buffer `which`. */
static struct tl_tensor scores_at(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j,
                                  uint32_t which)
{
    return kit_tile_part(tl, pair->scores[which], pair->source.q.rows,
                         kit_tile_width(&pair->source, j));
}

/* ---- composites: the scheduler streams K and V ---- */

static void composite_start_keys(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j)
{
    struct tl_epilogue epilogue = {.scale = kit_tile_scale(pair->source.launch)};
    tl_composite_to(tl, scores_at(tl, pair, j, j % 2), pair->source.q,
                    kit_tile_keys(tl, &pair->source, j), epilogue);
}

static struct tl_tensor composite_scores(struct tl *tl, const struct kit_tile_pair *pair,
                                         uint64_t j)
{
    return scores_at(tl, pair, j, j % 2);
}

static void composite_output(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j,
                             struct tl_tensor out, struct tl_tensor p)
{
    tl_composite_to(tl, out, p, kit_tile_values(tl, &pair->source, j), (struct tl_epilogue){0});
}

static const struct tile_gemm by_composite = {composite_start_keys, NULL, composite_scores,
                                              composite_output};

/* ---- dots: K and V are loaded, the next K while this tile is worked on ---- */

static struct tl_tensor dot_keys_at(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j)
{
    return kit_tile_part(tl, pair->k_block[j % 2], pair->source.launch->head_dim,
                         kit_tile_width(&pair->source, j));
}

static struct tl_tensor dot_values_at(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j)
{
    return kit_tile_part(tl, pair->v_block, kit_tile_width(&pair->source, j),
                         pair->source.launch->head_dim);
}

static void dot_start_keys(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j)
{
    tl_load_to(tl, dot_keys_at(tl, pair, j), kit_tile_keys(tl, &pair->source, j));
}

static void dot_start_values(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j)
{
    tl_load_to(tl, dot_values_at(tl, pair, j), kit_tile_values(tl, &pair->source, j));
}

static struct tl_tensor dot_scores(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j)
{
    struct tl_tensor scores = scores_at(tl, pair, j, 0);
    tl_dot_to(tl, scores, pair->source.q, dot_keys_at(tl, pair, j));
    tl_scale_to(tl, scores, scores, kit_tile_scale(pair->source.launch));
    return scores;
}

static void dot_output(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j,
                       struct tl_tensor out, struct tl_tensor p)
{
    tl_dot_to(tl, out, p, dot_values_at(tl, pair, j));
}

static const struct tile_gemm by_dot = {dot_start_keys, dot_start_values, dot_scores, dot_output};

static void new_blocks(struct tl *tl, struct kit_tile_pair *pair, uint32_t buffers, uint32_t width)
{
    uint32_t dim = pair->source.launch->head_dim;
    for (uint32_t i = 0; i < buffers; i++)
        pair->k_block[i] = tl_empty(tl, dim, width, TL_BF16);
    pair->v_block = tl_empty(tl, width, dim, TL_BF16);
}

struct kit_tile_pair kit_tile_pair_new(struct tl *tl, const struct kit_tile_source *source)
{
    bool dots = source->launch->gemm == TL_GEMM_DOT;
    struct kit_tile_pair pair = {.source = *source, .gemm = dots ? &by_dot : &by_composite};
    uint32_t width = kit_tile_width(source, 0), buffers = kit_tile_count(source) > 1 ? 2 : 1;
    for (uint32_t i = 0; i < (dots ? 1 : buffers); i++)
        pair.scores[i] = tl_empty(tl, source->q.rows, width, TL_F32);
    if (dots)
        new_blocks(tl, &pair, buffers, width);
    return pair;
}

void kit_tile_start_keys(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j)
{
    pair->gemm->start_keys(tl, pair, j);
}

void kit_tile_start_values(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j)
{
    if (pair->gemm->start_values != NULL)
        pair->gemm->start_values(tl, pair, j);
}

struct tl_tensor kit_tile_scores(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j)
{
    return pair->gemm->scores(tl, pair, j);
}

void kit_tile_output(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j,
                     struct tl_tensor out, struct tl_tensor p)
{
    pair->gemm->output(tl, pair, j, out, p);
}
