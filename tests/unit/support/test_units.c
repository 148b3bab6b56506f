/* Decimal texts, exact rates and simulated time at their limits. */
#include "support/units.h"

#include "../check.h"

static struct decimal parsed(const char *text)
{
    struct decimal value;
    CU_ASSERT_TRUE_FATAL(decimal_parse(text, &value));
    return value;
}

static void expect_decimal(const char *text, uint64_t digits, unsigned scale)
{
    struct decimal value = parsed(text);
    CU_ASSERT_EQUAL(value.digits, digits);
    CU_ASSERT_EQUAL(value.scale, scale);
}

static void expect_rate(struct rate rate, uint64_t num, uint64_t den)
{
    CU_ASSERT_EQUAL(rate.num, num);
    CU_ASSERT_EQUAL(rate.den, den);
}

static void test_parse(void)
{
    expect_decimal("0", 0, 0);
    expect_decimal("37.5", 375, 1);
    expect_decimal("4.50", 45, 1);
    expect_decimal("4.000", 4, 0);
    expect_decimal("100", 100, 0);
    expect_decimal("0.001", 1, 3);
    expect_decimal("0.0", 0, 0);
    expect_decimal("18446744073709551615", UINT64_MAX, 0);
    expect_decimal("0.000000000000000001", 1, 18);
}

static void test_parse_refuses(void)
{
    static const char *const texts[] = {
        "",
        " 1",
        "1 ",
        "+1",
        "-1",
        "1e3",
        "0x10",
        "nan",
        "inf",
        "1.",
        ".5",
        "1..2",
        "1.2.3",
        "1,5",
        "1_0",
        "12ns",
        ".",
        "18446744073709551616",
        "99999999999999999999999",
        "0.0000000000000000001",
        "1.00000000000000000000000",
    };
    struct decimal value;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (decimal_parse(texts[i], &value))
            CU_FAIL(texts[i]);
    }
}

static void test_picoseconds(void)
{
    uint64_t ps = 0;
    CU_ASSERT_TRUE(decimal_to_ps(parsed("0.001"), &ps));
    CU_ASSERT_EQUAL(ps, 1);
    CU_ASSERT_TRUE(decimal_to_ps(parsed("1.5"), &ps));
    CU_ASSERT_EQUAL(ps, 1500);
    CU_ASSERT_TRUE(decimal_to_ps(parsed("18446744073709551.615"), &ps));
    CU_ASSERT_EQUAL(ps, UINT64_MAX);
    CU_ASSERT_FALSE(decimal_to_ps(parsed("18446744073709552"), &ps));
    CU_ASSERT_FALSE(decimal_to_ps(parsed("0.0001"), &ps));
}

static void test_rates(void)
{
    expect_rate(rate_from_gbps(parsed("37.5")), 80, 3);
    expect_rate(rate_from_gbps(parsed("1200")), 5, 6);
    expect_rate(rate_from_gbps(parsed("0.1")), 10000, 1);
    expect_rate(rate_from_gbps(parsed("53.6870912")), 9765625, 524288);
    expect_rate(rate_from_ghz(parsed("1")), 1000, 1);
    expect_rate(rate_from_ghz(parsed("1.5")), 2000, 3);
    expect_rate(rate_divide(rate_from_gbps(parsed("1200")), 8), 20, 3);
    expect_rate(rate_reduce((struct rate){0, 7}), 0, 1);
}

static void test_durations(void)
{
    struct rate third = {1, 3};
    CU_ASSERT_EQUAL(rate_duration(third, 0), 0);
    CU_ASSERT_EQUAL(rate_duration(third, 1), 1);
    CU_ASSERT_EQUAL(rate_duration(third, 3), 1);
    CU_ASSERT_EQUAL(rate_duration(third, 4), 2);
    /* The product passes 64 bits, the duration does not. */
    CU_ASSERT_EQUAL(rate_duration((struct rate){UINT64_MAX, UINT64_MAX}, TIME_LAST - 1),
                    TIME_LAST - 1);
    CU_ASSERT_EQUAL(rate_duration((struct rate){1000000007, 2000000018}, UINT64_C(1) << 63),
                    UINT64_C(4611686009204015951));
    /* What is too long ends with simulated time. */
    CU_ASSERT_EQUAL(rate_duration((struct rate){1, 1}, TIME_LAST + 1), TIME_LAST);
    CU_ASSERT_EQUAL(rate_duration((struct rate){1, 1}, TIME_NEVER), TIME_LAST);
    CU_ASSERT_EQUAL(rate_duration((struct rate){2, 1}, UINT64_C(1) << 63), TIME_LAST);
    CU_ASSERT_EQUAL(rate_duration((struct rate){UINT64_MAX, 1}, UINT64_MAX), TIME_LAST);
}

static void test_times(void)
{
    CU_ASSERT_EQUAL(time_add(TIME_LAST - 2, 1), TIME_LAST - 1);
    CU_ASSERT_EQUAL(time_add(TIME_LAST - 1, 2), TIME_LAST);
    CU_ASSERT_EQUAL(time_add(UINT64_MAX, 1), TIME_LAST);
    CU_ASSERT_EQUAL(time_multiply(UINT64_C(1) << 31, UINT64_C(1) << 30), TIME_LAST / 2);
    CU_ASSERT_EQUAL(time_multiply(UINT64_C(1) << 32, UINT64_C(1) << 31), TIME_LAST);
    CU_ASSERT_EQUAL(time_multiply(UINT64_MAX, UINT64_MAX), TIME_LAST);
    CU_ASSERT_EQUAL(time_add_saturated(UINT64_MAX - 1, 2), TIME_NEVER);
    CU_ASSERT_EQUAL(time_add_saturated(TIME_NEVER, 0), TIME_NEVER);
    CU_ASSERT_EQUAL(time_add_saturated(2, 3), 5);
    CU_ASSERT_EQUAL(time_min(2, 3), 2);
    CU_ASSERT_EQUAL(time_max(2, 3), 3);
}

static void divide_too_much(void)
{
    (void)rate_divide((struct rate){UINT64_C(1) << 63, 1}, 2);
}

static void rate_of_nothing(void)
{
    (void)rate_from_gbps((struct decimal){0, 0});
}

static void rate_too_slow(void)
{
    (void)rate_from_gbps((struct decimal){1, 18});
}

static void test_overflow_stops(void)
{
    CU_ASSERT_TRUE(check_dies(divide_too_much, SIGABRT));
    CU_ASSERT_TRUE(check_dies(rate_of_nothing, SIGABRT));
    CU_ASSERT_TRUE(check_dies(rate_too_slow, SIGABRT));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"decimal texts", test_parse},
        {"texts that are no decimals", test_parse_refuses},
        {"nanoseconds to picoseconds", test_picoseconds},
        {"exact rates", test_rates},
        {"durations round up in 128 bits", test_durations},
        {"sums of times", test_times},
        {"rates out of range stop the program", test_overflow_stops},
        CU_TEST_INFO_NULL,
    };
    return check_run("support/units", tests);
}
