/* Servers: exact carry of fractions, and busy time. */
#include "machine/server.h"
#include "../check.h"

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* n back-to-back requests of any sizes take ceil(all * num / den). */
static void test_carry(void)
{
    static const struct rate rates[] = {{1000, 150}, {20, 3}, {1, 7}, {7, 1}, {999, 1000}, {5, 4}};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        struct server server = {0};
        uint64_t items = 0, at = 12345;
        for (uint64_t n = 1; n <= 1000; n++) {
            items += n % 5 + 1;
            uint64_t end = server_accept(&server, rates[r], at, n % 5 + 1);
            CU_ASSERT_EQUAL_FATAL(end, at + ceil_div(items * rates[r].num, rates[r].den));
        }
        CU_ASSERT_EQUAL(server.busy_ps, ceil_div(items * rates[r].num, rates[r].den));
    }
}

/* An idle server forgets the fraction: each request on its own is rounded up. */
static void test_idle_forgets(void)
{
    struct server server = {0};
    struct rate rate = {10, 3};
    for (uint64_t n = 0; n < 100; n++)
        CU_ASSERT_EQUAL(server_accept(&server, rate, 100 * n, 1), 100 * n + 4);
    CU_ASSERT_EQUAL(server.busy_ps, 400);
    /* A request that comes at the rounded end starts there: time is whole. */
    server = (struct server){0};
    CU_ASSERT_EQUAL(server_accept(&server, rate, 0, 1), 4);
    CU_ASSERT_EQUAL(server_accept(&server, rate, 4, 1), 8);
    /* One that comes before it is served from the exact end. */
    server = (struct server){0};
    server_accept(&server, rate, 0, 1);
    CU_ASSERT_EQUAL(server_accept(&server, rate, 3, 1), 7);
}

static void test_fixed_part(void)
{
    struct server server = {0};
    struct rate rate = {3, 2};
    CU_ASSERT_EQUAL(server_accept_after(&server, rate, 50, 10, 3), 50 + 10 + 5);
    CU_ASSERT_EQUAL(server.busy_ps, 15);
    CU_ASSERT_EQUAL(server_accept_after(&server, rate, 51, 10, 2), 65 + 10 + 3);
    CU_ASSERT_EQUAL(server.busy_ps, 28);
    CU_ASSERT_EQUAL(server_accept_after(&server, rate, 1000, 0, 0), 1000);
    CU_ASSERT_EQUAL(server.busy_ps, 28);
}

/* Products beyond 64 bits. */
static void test_large(void)
{
    struct server server = {0};
    struct rate rate = {UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1};
    uint64_t items = UINT64_C(1) << 40;
    uint64_t wanted = (uint64_t)((unsigned __int128)items * rate.num / rate.den) + 1;
    CU_ASSERT_EQUAL(server_accept(&server, rate, 0, items), wanted);
}

/* What does not fit ends at the end of simulated time. */
static void test_overflow_ends(void)
{
    struct server server = {0};
    CU_ASSERT_EQUAL(server_accept(&server, (struct rate){UINT64_MAX, 1}, 0, UINT64_MAX), TIME_LAST);
    struct server late = {0};
    CU_ASSERT_EQUAL(server_accept(&late, (struct rate){1, 1}, TIME_LAST - 5, 5), TIME_LAST);
    CU_ASSERT_EQUAL(server_accept(&late, (struct rate){1, 1}, TIME_LAST - 5, 6), TIME_LAST);
    CU_ASSERT_EQUAL(server_accept_after(&late, (struct rate){1, 1}, 7, TIME_LAST, 6), TIME_LAST);
}

/* Union of overlapping activities. */
static void test_activity(void)
{
    struct activity activity = {0};
    activity_begin(&activity, 10);
    activity_begin(&activity, 20);
    activity_end(&activity, 30);
    CU_ASSERT_EQUAL(activity.busy_ps, 0);
    activity_end(&activity, 50);
    CU_ASSERT_EQUAL(activity.busy_ps, 40);
    activity_begin(&activity, 60);
    activity_end(&activity, 61);
    CU_ASSERT_EQUAL(activity.busy_ps, 41);
}

CHECK_MAIN("machine/server", CHECK_TEST(test_carry), CHECK_TEST(test_idle_forgets),
           CHECK_TEST(test_fixed_part), CHECK_TEST(test_large), CHECK_TEST(test_overflow_ends),
           CHECK_TEST(test_activity))
