/* Whole numbers with a suffix: exactly, or not at all. */
#include "support/count.h"

#include <string.h>

#include "../check.h"

static bool parsed(const char *text, uint64_t *value)
{
    return count_parse(text, text + strlen(text), value);
}

static void test_counts(void)
{
    static const struct {
        const char *text;
        uint64_t value;
    } rows[] = {
        {"0", 0},
        {"00012", 12},
        {"18446744073709551615", UINT64_MAX},
        {"1K", 1024},
        {"3k", 3072},
        {"2M", 2 << 20},
        {"1g", 1 << 30},
        {"17179869183G", UINT64_MAX - (1 << 30) + 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t value;
        CU_ASSERT_TRUE(parsed(rows[i].text, &value));
        CU_ASSERT_EQUAL(value, rows[i].value);
    }
}

static void test_refused(void)
{
    static const char *const texts[] = {"",
                                        " 1",
                                        "1 ",
                                        "+1",
                                        "-1",
                                        "1.5",
                                        "0x1",
                                        "1T",
                                        "K",
                                        "1KK",
                                        "1Ki",
                                        "1_0",
                                        "18446744073709551616",
                                        "17179869184G"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t value;
        CU_ASSERT_FALSE(parsed(texts[i], &value));
    }
    uint64_t value;
    static const char nul[2] = "1";
    CU_ASSERT_FALSE(count_parse(nul, nul + 2, &value));
}

static void test_end(void)
{
    const char *text = "12K,7";
    uint64_t value;
    CU_ASSERT_TRUE(count_parse(text, text + 3, &value) && value == 12 << 10);
    CU_ASSERT_TRUE(count_parse(text, text + 2, &value) && value == 12);
    CU_ASSERT_FALSE(count_parse(text, text, &value));
}

CHECK_MAIN("support/count", CHECK_TEST(test_counts), CHECK_TEST(test_refused), CHECK_TEST(test_end))
