/* The reference against attention written out one element at a time, with chunks and blocks cut in
 * every way; and the measures of error. */
#include <math.h>

#include "../check.h"
#include "support/bf16.h"
#include "support/memory.h"
#include "values/generator.h"
#include "values/measure.h"
#include "values/reference.h"

enum { DIM = 8, HEADS = 3 };

static struct error err;

static double at(struct value_source *source, enum value_tensor tensor, uint32_t head,
                 uint64_t token, uint32_t dim)
{
    uint16_t row[DIM];
    value_source_rows(source, tensor, (struct value_row){2, head, token}, 1, 1, row, &err);
    return (double)f32_of_bf16(row[dim]);
}

/* Query head `head`, position `q` of `query_len`, element `dim`. */
static double plain(const struct reference_problem *problem, uint32_t head, uint64_t q,
                    uint32_t dim)
{
    double above = 0, below = 0;
    uint64_t last = problem->context - problem->query_len + q;
    for (uint64_t token = 0; token <= last; token++) {
        double s = 0;
        for (uint32_t i = 0; i < DIM; i++)
            s += at(problem->source, VALUE_Q, head, q, i) *
                 at(problem->source, VALUE_K, head / HEADS, token, i);
        double p = exp(s / sqrt((double)DIM));
        below += p;
        above += p * at(problem->source, VALUE_V, head / HEADS, token, dim);
    }
    return above / below;
}

static void check_block(const struct reference_problem *problem,
                        const struct reference_block *block)
{
    uint64_t size = reference_state_size(block->count, DIM);
    double *state = memory_new(size, sizeof *state), *more = memory_new(size, sizeof *more);
    reference_chunk(problem, block, 0, state, &err);
    for (uint64_t chunk = 1; chunk < reference_chunks(problem->context); chunk++) {
        reference_chunk(problem, block, chunk, more, &err);
        reference_merge(state, more, block->count, DIM);
    }
    const double *o = reference_output(state, block->count, DIM);
    for (uint32_t row = 0; row < block->count; row++) {
        uint64_t index = block->first + row;
        uint32_t head = block->kv_head * HEADS + (uint32_t)(index / problem->query_len);
        double exact = plain(problem, head, index % problem->query_len, 5);
        CU_ASSERT(fabs(o[row * DIM + 5] - exact) < 1e-12);
    }
    memory_free(state);
    memory_free(more);
}

static void test_decode(void)
{
    static const uint64_t contexts[] = {1, 2, 1000, 1024, 1025, 2500};
    struct value_source *source = generator_new(3, DIM);
    for (size_t i = 0; i < sizeof contexts / sizeof contexts[0]; i++) {
        struct reference_problem problem = {source, contexts[i], 1, HEADS};
        check_block(&problem, &(struct reference_block){2, 1, 0, HEADS});
    }
    value_source_free(source);
}

static void test_causal(void)
{
    struct value_source *source = generator_new(3, DIM);
    struct reference_problem prefill = {source, 50, 50, HEADS}, chunked = {source, 1100, 90, HEADS};
    check_block(&prefill, &(struct reference_block){2, 1, 0, 20});
    check_block(&prefill, &(struct reference_block){2, 1, 45, 20}); /* over a head's border */
    check_block(&chunked, &(struct reference_block){2, 0, 0, 9});   /* its last chunk unseen */
    check_block(&chunked, &(struct reference_block){2, 0, 200, 9});
    value_source_free(source);
}

static void test_chunks_cover_long_contexts(void)
{
    CU_ASSERT_EQUAL(reference_chunks(1), 1);
    CU_ASSERT_EQUAL(reference_chunks(1025), 2);
    CU_ASSERT_EQUAL(reference_chunks(UINT64_C(4096) * 1024), 4096);
    CU_ASSERT(reference_chunks(UINT64_C(1) << 36) <= 4096);
}

static void test_measures(void)
{
    const float output[4] = {1, 2, 3, 4};
    const double exact[4] = {1, 2, 3, 4.01};
    struct measure measure = {0};
    CU_ASSERT_FALSE(measure_passes(&measure)); /* nothing compared is not a pass */
    measure_add(&measure, output, exact, 4);
    CU_ASSERT(fabs(measure_max_abs(&measure) - 0.01) < 1e-12);
    CU_ASSERT(fabs(measure_rms_relative(&measure) - 0.01 / sqrt(30.0801)) < 1e-9);
    CU_ASSERT(measure_passes(&measure));
    const float wrong = 4.2f;
    measure_add(&measure, &wrong, &exact[3], 1);
    CU_ASSERT_FALSE(measure_passes(&measure));
}

static void test_no_number_fails(void)
{
    const float nan = NAN, infinite = INFINITY, zero = 0;
    const double exact = 1, nothing = 0;
    struct measure a = {0}, b = {0}, c = {0};
    measure_add(&a, &nan, &exact, 1);
    measure_add(&b, &infinite, &exact, 1);
    measure_add(&c, &zero, &nothing, 1);
    CU_ASSERT_FALSE(measure_passes(&a));
    CU_ASSERT_FALSE(measure_passes(&b));
    CU_ASSERT(isinf(measure_rms_relative(&a)) && isinf(measure_max_abs(&a)));
    CU_ASSERT(measure_passes(&c)); /* all zero and right */
}

CHECK_MAIN("values/reference", CHECK_TEST(test_decode), CHECK_TEST(test_causal),
           CHECK_TEST(test_chunks_cover_long_contexts), CHECK_TEST(test_measures),
           CHECK_TEST(test_no_number_fails))
