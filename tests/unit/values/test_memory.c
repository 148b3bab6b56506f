/* Inputs and memory: the generator, regions in every layout against one element at a time, and what
 * is written over them. */
#include <math.h>
#include <string.h>

#include "../check.h"
#include "support/bf16.h"
#include "support/memory.h"
#include "values/generator.h"
#include "values/memory.h"

enum { DIM = 10 };

static struct error err;

static uint16_t element(struct value_source *source, enum value_tensor tensor, uint32_t request,
                        uint32_t head, uint64_t token, uint32_t dim)
{
    uint16_t row[256];
    CU_ASSERT_FATAL(source->dim <= 256);
    value_source_rows(source, tensor, (struct value_row){request, head, token}, 1, 1, row, &err);
    return row[dim];
}

static void test_generator_moments(void)
{
    enum { ROWS = 2000, D = 128 };
    struct value_source *source = generator_new(1, D);
    uint16_t *rows = memory_new(ROWS, D * sizeof *rows);
    double sum = 0, squares = 0, fourth = 0, n = (double)ROWS * D;
    value_source_rows(source, VALUE_K, (struct value_row){0, 0, 0}, 1, ROWS, rows, &err);
    for (uint32_t i = 0; i < ROWS * D; i++) {
        double x = (double)f32_of_bf16(rows[i]);
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
    }
    CU_ASSERT(fabs(sum / n) < 0.01);
    CU_ASSERT(fabs(squares / n - 1) < 0.01);
    CU_ASSERT(fabs(fourth / n - 2.7) < 0.05); /* of a sum of four uniform numbers: 3 - 1.2 / 4 */
    memory_free(rows);
    value_source_free(source);
}

/* Every part of the key matters, and nothing else: the same element in whatever run of rows. */
static void test_generator_keys(void)
{
    struct value_source *source = generator_new(7, DIM), *other = generator_new(8, DIM);
    uint32_t same = 0;
    for (uint64_t token = 100; token < 200; token++) {
        uint16_t base = element(source, VALUE_K, 1, 2, token, 3);
        same += base == element(other, VALUE_K, 1, 2, token, 3);
        same += base == element(source, VALUE_V, 1, 2, token, 3);
        same += base == element(source, VALUE_K, 2, 2, token, 3);
        same += base == element(source, VALUE_K, 1, 1, token, 3);
        same += base == element(source, VALUE_K, 1, 2, token + (UINT64_C(1) << 32), 3);
        same += base == element(source, VALUE_K, 1, 2, token, 4);
    }
    CU_ASSERT(same < 20); /* 600 pairs of some 400 likely values */
    uint16_t rows[5][DIM];
    value_source_rows(source, VALUE_K, (struct value_row){1, 2, 30}, 7, 5, rows[0], &err);
    for (uint32_t i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(rows[i][4], element(source, VALUE_K, 1, 2, 30 + 7 * i, 4));
    value_source_free(source);
    value_source_free(other);
}

/* A seed means the same numbers in every version: changing them must be deliberate. */
static void test_generator_is_fixed(void)
{
    struct value_source *source = generator_new(1, 4);
    uint16_t row[4];
    value_source_rows(source, VALUE_Q, (struct value_row){0, 0, 0}, 1, 1, row, &err);
    CU_ASSERT_EQUAL(row[0], 0x3ec5);
    CU_ASSERT_EQUAL(row[1], 0xbe3a);
    CU_ASSERT_EQUAL(row[2], 0xbecf);
    CU_ASSERT_EQUAL(row[3], 0x3e5a);
    value_source_free(source);
}

/* What lies at element `at` of a region, by its definition; 0xffff: nothing. */
static uint16_t expected(struct value_source *source, const struct value_region *region,
                         uint64_t at)
{
    uint64_t row = at / DIM, dim = at % DIM;
    if (region->layout == LAYOUT_TRANSPOSED) {
        uint64_t block = at / (region->block * DIM), within = at % (region->block * DIM);
        uint64_t width = region->rows - block * region->block;
        width = width < region->block ? width : region->block;
        if (within >= width * DIM)
            return 0xffff;
        row = block * region->block + within % width;
        dim = within / width;
    }
    uint32_t head = region->head + (uint32_t)(row / region->rows_per_head) * region->head_step;
    uint64_t token = region->token + row % region->rows_per_head * region->token_step;
    return element(source, region->tensor, region->request, head, token, (uint32_t)dim);
}

static void check_region(const struct value_region *region)
{
    struct value_source *source = generator_new(5, DIM);
    uint64_t elements = region_bytes(region, DIM) / VALUE_BYTES;
    uint16_t *got = memory_new(elements, sizeof *got);
    uint32_t wrong = 0;
    for (uint64_t first = 0; first < elements; first += 1 + first / 3)
        for (uint64_t count = 1; first + count <= elements; count += 1 + count / 2) {
            memset(got, 0xff, elements * sizeof *got);
            region_read(region, source, first * VALUE_BYTES, count * VALUE_BYTES, (char *)got,
                        &err);
            for (uint64_t i = 0; i < count; i++)
                wrong += got[i] != expected(source, region, first + i);
        }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(err.code, ERROR_NONE);
    memory_free(got);
    value_source_free(source);
}

static void test_rows(void)
{
    check_region(&(struct value_region){.tensor = VALUE_V,
                                        .request = 3,
                                        .head = 2,
                                        .rows = 13,
                                        .rows_per_head = 13,
                                        .token = 5,
                                        .token_step = 64});
    check_region(&(struct value_region){.tensor = VALUE_Q,
                                        .request = 1,
                                        .head = 16,
                                        .head_step = 1,
                                        .rows = 24,
                                        .rows_per_head = 3,
                                        .token_step = 1});
    check_region(&(struct value_region){.tensor = VALUE_Q,
                                        .head = 1,
                                        .head_step = 4,
                                        .rows = 10,
                                        .rows_per_head = 5,
                                        .token = 2,
                                        .token_step = 8});
}

static void test_transposed(void)
{
    struct value_region region = {.tensor = VALUE_K,
                                  .layout = LAYOUT_TRANSPOSED,
                                  .block = 4,
                                  .request = 2,
                                  .head = 1,
                                  .token = 3,
                                  .token_step = 8};
    static const uint64_t rows[] = {1, 3, 4, 5, 8, 11};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        region.rows = region.rows_per_head = rows[i];
        check_region(&region);
    }
}

static struct value_share share_of(struct value_source *source)
{
    struct value_region k = {
        .addr = 100, .tensor = VALUE_K, .rows = 600, .rows_per_head = 600, .token_step = 1};
    struct value_region o = {.addr = 20000,
                             .tensor = VALUE_O,
                             .head_step = 1,
                             .rows = 6,
                             .rows_per_head = 2,
                             .token_step = 1};
    struct value_share share = {.source = source};
    value_share_map(&share, &k);
    value_share_map(&share, &o);
    return share;
}

static void test_writes_cover_inputs(void)
{
    struct value_source *source = generator_new(5, DIM);
    struct value_share share = share_of(source);
    const uint16_t written[3] = {1, 2, 3};
    uint16_t got[7];
    uint64_t addr = 4096 - 4; /* over the border of a page */
    CU_ASSERT(value_share_write(&share, addr, sizeof written, (const char *)written, &err));
    CU_ASSERT(value_share_read(&share, addr - 4, sizeof got, (char *)got, &err));
    for (uint32_t i = 0; i < 7; i++) {
        uint64_t at = (addr - 4 - 100) / 2 + i;
        uint16_t input = element(source, VALUE_K, 0, 0, at / DIM, at % DIM);
        CU_ASSERT_EQUAL(got[i], i >= 2 && i < 5 ? written[i - 2] : input);
    }
    CU_ASSERT(value_share_read(&share, 96, 6, (char *)got, &err));
    CU_ASSERT_EQUAL(got[0], 0xffff); /* before the region there is nothing */
    CU_ASSERT_EQUAL(got[2], element(source, VALUE_K, 0, 0, 0, 0));
    value_share_fini(&share);
    value_source_free(source);
}

static void test_outputs(void)
{
    struct value_source *source = generator_new(5, DIM);
    struct value_share share = share_of(source);
    uint16_t row[DIM], got[DIM];
    CU_ASSERT_EQUAL_FATAL(share.outputs_count, 1);
    const struct value_region *region = &share.outputs[0];
    for (uint32_t i = 0; i < DIM; i++)
        row[i] = (uint16_t)(0x3f80 + i);
    CU_ASSERT_FALSE(value_share_output(&share, region, 3, got));
    value_share_write(&share, 20000 + 3 * sizeof row, sizeof row, (const char *)row, &err);
    CU_ASSERT(value_share_output(&share, region, 3, got));
    CU_ASSERT_EQUAL(memcmp(row, got, sizeof row), 0);
    CU_ASSERT_FALSE(value_share_output(&share, region, 2, got));
    CU_ASSERT_EQUAL(region_row(region, 3).head, 1);
    CU_ASSERT_EQUAL(region_row(region, 3).token, 1);
    value_share_fini(&share);
    value_source_free(source);
}

static void test_many_pages(void)
{
    struct value_source *source = generator_new(5, DIM);
    struct value_share share = {.source = source};
    for (uint64_t i = 0; i < 1000; i++)
        value_share_write(&share, i * 12345678, sizeof i, (const char *)&i, &err);
    uint32_t wrong = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t got;
        value_share_read(&share, i * 12345678, sizeof got, (char *)&got, &err);
        wrong += got != i;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    value_share_fini(&share);
    value_source_free(source);
}

static void test_scratch_grows(void)
{
    struct value_scratch scratch = {.limit = 1 << 20};
    memcpy(value_scratch_at(&scratch, 10, 4), "abcd", 4);
    char *last = value_scratch_at(&scratch, (1 << 20) - 1, 1);
    CU_ASSERT_EQUAL(*(unsigned char *)last, 0xff);
    CU_ASSERT_EQUAL(memcmp(value_scratch_at(&scratch, 10, 4), "abcd", 4), 0);
    CU_ASSERT_EQUAL(scratch.size, 1 << 20);
    value_scratch_fini(&scratch);
}

CHECK_MAIN("values/memory", CHECK_TEST(test_generator_moments), CHECK_TEST(test_generator_keys),
           CHECK_TEST(test_generator_is_fixed), CHECK_TEST(test_rows), CHECK_TEST(test_transposed),
           CHECK_TEST(test_writes_cover_inputs), CHECK_TEST(test_outputs),
           CHECK_TEST(test_many_pages), CHECK_TEST(test_scratch_grows))
