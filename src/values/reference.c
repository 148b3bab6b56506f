#include "values/reference.h"

#include <math.h>

#include "support/bf16.h"
#include "support/memory.h"

enum { CHUNK_TOKENS = 1024, CHUNKS_MAX = 4096 };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t chunk_tokens(uint64_t context)
{
    uint64_t tokens = (context + CHUNKS_MAX - 1) / CHUNKS_MAX;
    return tokens > CHUNK_TOKENS ? tokens : CHUNK_TOKENS;
}

uint64_t reference_chunks(uint64_t context)
{
    uint64_t tokens = chunk_tokens(context);
    return (context + tokens - 1) / tokens;
}

uint64_t reference_state_size(uint32_t count, uint32_t dim)
{
    return (uint64_t)count * (dim + UINT64_C(2));
}

uint64_t reference_memory(uint64_t context, uint32_t count, uint32_t dim)
{
    uint64_t tokens = least(chunk_tokens(context), context);
    uint64_t token = dim * (sizeof(uint16_t) + 2 * sizeof(double)) + sizeof(double);
    return tokens * token + (uint64_t)count * dim * sizeof(double);
}

/* What a chunk is computed with. */
struct chunk {
    uint64_t first, count; /* tokens */
    uint16_t *raw;         /* [count][dim] */
    double *q;             /* [rows][dim], scaled */
    double *k;             /* [dim][count] */
    double *v;             /* [count][dim] */
    double *s;             /* [count] */
};

static void chunk_init(struct chunk *chunk, const struct reference_problem *problem,
                       const struct reference_block *block, uint64_t number)
{
    uint64_t tokens = chunk_tokens(problem->context), dim = problem->source->dim;
    chunk->first = number * tokens;
    chunk->count = least(tokens, problem->context - chunk->first);
    chunk->raw = memory_new(chunk->count, dim * sizeof *chunk->raw);
    chunk->q = memory_new(block->count, dim * sizeof *chunk->q);
    chunk->k = memory_new(chunk->count, dim * sizeof *chunk->k);
    chunk->v = memory_new(chunk->count, dim * sizeof *chunk->v);
    chunk->s = memory_new(chunk->count, sizeof *chunk->s);
}

static void chunk_fini(struct chunk *chunk)
{
    memory_free(chunk->raw);
    memory_free(chunk->q);
    memory_free(chunk->k);
    memory_free(chunk->v);
    memory_free(chunk->s);
}

static bool read_queries(const struct reference_problem *problem,
                         const struct reference_block *block, struct chunk *chunk,
                         struct error *err)
{
    uint32_t dim = problem->source->dim;
    double scale = 1.0 / sqrt((double)dim);
    for (uint32_t row = 0; row < block->count; row++) {
        uint64_t at = block->first + row;
        uint32_t head = block->kv_head * problem->group_heads + (uint32_t)(at / problem->query_len);
        struct value_row which = {block->request, head, at % problem->query_len};
        if (!value_source_rows(problem->source, VALUE_Q, which, 1, 1, chunk->raw, err))
            return false;
        for (uint32_t i = 0; i < dim; i++)
            chunk->q[(uint64_t)row * dim + i] = scale * (double)f32_of_bf16(chunk->raw[i]);
    }
    return true;
}

/* K as [dim][count], so that the sums over dim run in one order for all tokens at once. */
static bool read_keys(const struct reference_problem *problem, const struct reference_block *block,
                      struct chunk *chunk, struct error *err)
{
    uint32_t dim = problem->source->dim;
    struct value_row first = {block->request, block->kv_head, chunk->first};
    if (!value_source_rows(problem->source, VALUE_K, first, 1, chunk->count, chunk->raw, err))
        return false;
    for (uint64_t token = 0; token < chunk->count; token++)
        for (uint32_t i = 0; i < dim; i++)
            chunk->k[i * chunk->count + token] = (double)f32_of_bf16(chunk->raw[token * dim + i]);
    return true;
}

static bool read_values(const struct reference_problem *problem,
                        const struct reference_block *block, struct chunk *chunk, struct error *err)
{
    struct value_row first = {block->request, block->kv_head, chunk->first};
    if (!value_source_rows(problem->source, VALUE_V, first, 1, chunk->count, chunk->raw, err))
        return false;
    for (uint64_t i = 0; i < chunk->count * problem->source->dim; i++)
        chunk->v[i] = (double)f32_of_bf16(chunk->raw[i]);
    return true;
}

static void scores(struct chunk *chunk, const double *q, uint32_t dim, uint64_t visible)
{
    for (uint64_t token = 0; token < visible; token++)
        chunk->s[token] = 0;
    for (uint32_t i = 0; i < dim; i++) {
        const double *k = chunk->k + i * chunk->count;
        for (uint64_t token = 0; token < visible; token++)
            chunk->s[token] += q[i] * k[token];
    }
}

static double maximum(const double *values, uint64_t count)
{
    double value = -INFINITY;
    for (uint64_t i = 0; i < count; i++)
        value = values[i] > value || isnan(values[i]) ? values[i] : value;
    return value;
}

/* One row over the tokens of the chunk that it sees: m, l and O. */
static void attend(struct chunk *chunk, const double *q, uint32_t dim, uint64_t visible, double *m,
                   double *l, double *o)
{
    scores(chunk, q, dim, visible);
    *m = maximum(chunk->s, visible);
    *l = 0;
    for (uint32_t i = 0; i < dim; i++)
        o[i] = 0;
    for (uint64_t token = 0; token < visible; token++) {
        double p = exp(chunk->s[token] - *m);
        const double *v = chunk->v + token * dim;
        *l += p;
        for (uint32_t i = 0; i < dim; i++)
            o[i] += p * v[i];
    }
}

static void attend_all(const struct reference_problem *problem, const struct reference_block *block,
                       struct chunk *chunk, double *state)
{
    uint32_t dim = problem->source->dim;
    double *m = state, *l = m + block->count, *o = l + block->count;
    for (uint32_t row = 0; row < block->count; row++) {
        uint64_t position =
            problem->context - problem->query_len + (block->first + row) % problem->query_len;
        uint64_t visible =
            position < chunk->first ? 0 : least(chunk->count, position + 1 - chunk->first);
        attend(chunk, chunk->q + (uint64_t)row * dim, dim, visible, &m[row], &l[row],
               o + (uint64_t)row * dim);
    }
}

bool reference_chunk(const struct reference_problem *problem, const struct reference_block *block,
                     uint64_t number, double *state, struct error *err)
{
    struct chunk chunk;
    chunk_init(&chunk, problem, block, number);
    bool good = read_queries(problem, block, &chunk, err) &&
                read_keys(problem, block, &chunk, err) && read_values(problem, block, &chunk, err);
    if (good)
        attend_all(problem, block, &chunk, state);
    chunk_fini(&chunk);
    return good;
}

void reference_merge(double *state, const double *more, uint32_t count, uint32_t dim)
{
    double *m = state, *l = m + count, *o = l + count;
    const double *more_m = more, *more_l = more_m + count, *more_o = more_l + count;
    for (uint32_t row = 0; row < count; row++) {
        if (more_m[row] == -INFINITY) /* it saw nothing of that chunk */
            continue;
        double top = more_m[row] > m[row] || isnan(more_m[row]) ? more_m[row] : m[row];
        double mine = exp(m[row] - top), theirs = exp(more_m[row] - top);
        m[row] = top;
        l[row] = l[row] * mine + more_l[row] * theirs;
        for (uint64_t i = (uint64_t)row * dim; i < (row + UINT64_C(1)) * dim; i++)
            o[i] = o[i] * mine + more_o[i] * theirs;
    }
}

const double *reference_output(double *state, uint32_t count, uint32_t dim)
{
    double *l = state + count, *o = l + count;
    for (uint32_t row = 0; row < count; row++)
        for (uint32_t i = 0; i < dim; i++)
            o[(uint64_t)row * dim + i] /= l[row];
    return o;
}
