/* The rows of a point's results describe themselves in full, and no two have one name. */
#include <string.h>

#include "../check.h"
#include "study/study.h"
#include "study/summary_rows.h"

static const struct summary_row *row_at(int number)
{
    return summary_row((enum summary_row_number)number);
}

static void test_described(void)
{
    for (int i = 0; i < SUMMARY_ROWS_COUNT; i++) {
        const struct summary_row *row = row_at(i);
        CU_ASSERT_TRUE(row->name[0] != '\0' && row->units[0] != '\0');
        CU_ASSERT_TRUE(strlen(row->description) > 10);
        CU_ASSERT_TRUE(row->offset < sizeof(struct point_summary));
        for (int k = 0; k < i; k++)
            CU_ASSERT_STRING_NOT_EQUAL(row->name, row_at(k)->name);
    }
}

/* A duration is in ps, a volume in bytes, as the names say. */
static void test_units(void)
{
    for (int i = 0; i < SUMMARY_ROWS_COUNT; i++) {
        const struct summary_row *row = row_at(i);
        size_t length = strlen(row->name);
        if (length > 3 && strcmp(row->name + length - 3, "_ps") == 0)
            CU_ASSERT_STRING_EQUAL(row->units, "ps");
        if (length > 6 && strcmp(row->name + length - 6, "_bytes") == 0)
            CU_ASSERT_STRING_EQUAL(row->units, "bytes");
    }
}

static void test_combine(void)
{
    static const enum summary_combine rules[] = {SUMMARY_SUM, SUMMARY_MAX, SUMMARY_MIN};
    static const uint64_t expected[] = {12, 7, 5};
    for (int i = 0; i < 3; i++) {
        uint64_t one = summary_combined(rules[i], summary_start(rules[i]), 7);
        CU_ASSERT_EQUAL(one, 7);
        CU_ASSERT_EQUAL(summary_combined(rules[i], one, 5), expected[i]);
    }
}

/* Of the file, an array of that name is there already where a row is for JSON alone. */
static void test_scalars(void)
{
    struct results_scalar scalars[SUMMARY_ROWS_COUNT];
    uint32_t count = summary_scalars(scalars), rows = 0;
    for (int i = 0; i < SUMMARY_ROWS_COUNT; i++)
        rows += (row_at(i)->places & SUMMARY_IN_FILE) != 0;
    CU_ASSERT_EQUAL(count, rows);
    CU_ASSERT_TRUE(count > 20 && count < SUMMARY_ROWS_COUNT);
}

CHECK_MAIN("study/summary_rows", CHECK_TEST(test_described), CHECK_TEST(test_units),
           CHECK_TEST(test_combine), CHECK_TEST(test_scalars))
