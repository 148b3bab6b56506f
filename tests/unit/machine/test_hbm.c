/* A PE's share of the stack: bandwidth, interleave, refresh, and several readers. */
#include "../check.h"
#include "rig.h"

/* n beats take ceil(n * beat): 256 bytes of a channel at 1200 GB/s of the stack are 6826 2/3 ps. */
static void test_bandwidth_is_exact(void)
{
    for (uint64_t n = 1; n <= 8; n++) {
        struct rig rig;
        struct machine_params params = rig_params(1, 1);
        params.hbm.rate = (struct rate){1000, 1200};
        rig_init(&rig, &params);
        for (uint64_t i = 0; i < n; i++)
            rig_add(&rig, 0, 0, make_load(0, 1024 * i, 1024 * i, 1024));
        RUN_CLEAN(&rig);
        EQUAL(rig_end(&rig, 0, 0, n), ceil_rate((struct rate){80, 3}, 256 * n));
        EQUAL(rig_pe(&rig, 0, 0).hbm.busy_ps, 256 * n * 80 / 3);
        rig_fini(&rig);
    }
}

/* Four channels of 256-byte stripes, each at a quarter of the share's rate (4 ps a byte). */
static void test_interleave(void)
{
    static const struct {
        uint64_t first, second, bytes, end;
    } pairs[] = {
        {0, 1024, 256, 2 * 1024}, /* the same channel */
        {0, 256, 256, 1024},      /* the next one */
        {0, 768, 512, 2 * 1024},  /* wraps into the first's */
        {256, 768, 512, 1024},     {0, 4096, 1024, 2 * 1024},
        {0, 4096, 1280, 4 * 1024}, /* five stripes: channel 0 has two of each load */
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct rig rig;
        struct machine_params params = rig_params(1, 1);
        rig_init(&rig, &params);
        rig_add(&rig, 0, 0, make_load(0, pairs[i].first, 0, pairs[i].bytes));
        rig_add(&rig, 0, 0, make_load(0, pairs[i].second, 8192, pairs[i].bytes));
        RUN_CLEAN(&rig);
        EQUAL(time_max(rig_end(&rig, 0, 0, 1), rig_end(&rig, 0, 0, 2)), pairs[i].end);
        rig_fini(&rig);
    }
}

/* ---- refresh ---- */

enum { INTERVAL = 10000, AWAY = 700 };

/* Interval by interval: the n-th refresh, n >= 1, takes [n * INTERVAL, n * INTERVAL + AWAY). */
static uint64_t walk(uint64_t time, uint64_t work)
{
    while (true) {
        uint64_t number = time / INTERVAL;
        if (number > 0 && time < number * INTERVAL + AWAY)
            time = number * INTERVAL + AWAY;
        uint64_t room = (number + 1) * INTERVAL - time;
        if (work <= room)
            return time + work;
        work -= room;
        time += room;
    }
}

static void check_refresh(uint64_t start, uint64_t work, bool with)
{
    struct rig rig;
    struct machine_params params = rig_params(1, 1);
    params.hbm.rate = (struct rate){1, 32}; /* a byte of a channel takes 1 ps */
    params.hbm.refresh_interval_ps = INTERVAL;
    params.hbm.refresh_busy_ps = with ? AWAY : 0;
    params.dma.request_bytes = 1 << 20;
    params.cpu.issue_ps[OP_LOAD] = start;
    rig_init(&rig, &params);
    rig_add(&rig, 0, 0, make_load(0, 0, 0, 4 * work));
    RUN_CLEAN(&rig);
    EQUAL(rig_end(&rig, 0, 0, 1), with ? walk(start, work) : start + work);
    rig_fini(&rig);
}

static void test_refresh(void)
{
    static const uint64_t starts[] = {0,
                                      1,
                                      INTERVAL - 256,
                                      INTERVAL - 1,
                                      INTERVAL,
                                      INTERVAL + 1,
                                      INTERVAL + AWAY - 1,
                                      INTERVAL + AWAY,
                                      INTERVAL + AWAY + 1,
                                      2 * INTERVAL - 257,
                                      7 * INTERVAL + 350,
                                      UINT64_C(1000000) * INTERVAL - 3};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        for (uint64_t stripes = 1; stripes <= 128; stripes = stripes * 3 / 2 + 1) {
            check_refresh(starts[i], 256 * stripes, true);
            check_refresh(starts[i], 256 * stripes, false);
        }
}

/* Many requests one after another see the same refreshes as one large one. */
static void test_refresh_of_a_stream(void)
{
    struct rig rig;
    struct machine_params params = rig_params(1, 1);
    params.hbm.rate = (struct rate){1, 32};
    params.hbm.refresh_interval_ps = INTERVAL;
    params.hbm.refresh_busy_ps = AWAY;
    params.dma.request_bytes = 4096;
    params.dma.queue_depth = 1024;
    rig_init(&rig, &params);
    rig_add(&rig, 0, 0, make_load(0, 0, 0, 1 << 19));
    RUN_CLEAN(&rig);
    EQUAL(rig_end(&rig, 0, 0, 1), walk(0, 1 << 17));
    EQUAL(rig_pe(&rig, 0, 0).hbm.busy_ps, 1 << 17);
    rig_fini(&rig);
}

/* Two readers of one share have half of it each. */
static void test_shares_are_shared(void)
{
    struct rig rig;
    struct machine_params params = rig_params(1, 1);
    params.link[LEVEL_PE] = (struct link_params){{1, 1000}, 1};
    params.ipcq.credit_bytes = 1;
    rig_init(&rig, &params);
    uint64_t bytes = 1 << 18;
    rig_add(&rig, 0, 0, make_load(0, 0, 0, bytes));
    rig_add(&rig, 0, 2, make_load(0, bytes, 0, bytes));
    RUN_CLEAN(&rig);
    uint64_t first = rig_end(&rig, 0, 0, 1), second = rig_end(&rig, 0, 2, 1);
    CU_ASSERT_TRUE(first > 2 * bytes - 2 * 64 * 4096 && first <= 2 * bytes);
    CU_ASSERT_TRUE(second >= 2 * bytes && second <= 2 * bytes + 1000);
    EQUAL(rig_pe(&rig, 0, 0).hbm.read_bytes, 2 * bytes);
    EQUAL(rig_pe(&rig, 0, 2).hbm.read_bytes, 0);
    rig_fini(&rig);
}

/* Twenty loads crowd one pseudo-channel, a short one on an idle channel overtakes them, and what it
 * feeds leaves the CUBE: earlier than all the bytes asked for could have come, so that a promise
 * that counted them would be broken (lp_send stops the run). */
static void test_uneven_channels(void)
{
    struct rig rig;
    struct machine_params params = rig_params(2, 1);
    params.hbm.rate = (struct rate){100, 8}; /* 400 ps per byte of a channel */
    params.dma.queue_commands = 60;
    params.dma.queue_depth = 100;
    params.dma.request_ps = 2000; /* CUBE 1 waits before the first is accepted */
    rig_init(&rig, &params);
    for (uint64_t i = 0; i < 20; i++)
        rig_add(&rig, 0, 0, make_load(0, i * 4 * 256, i * 256, 256));
    rig_add(&rig, 0, 0, make_load(0, 256, 0x8000, 256));
    rig_add(&rig, 0, 0, make_send(QUEUE_CUBE_E, 0x8000, 256));
    rig_add(&rig, 1, 0, make_recv(OP_RECV, QUEUE_CUBE_W, 0, 256));
    RUN_CLEAN(&rig);
    EQUAL(rig_end(&rig, 0, 0, 20), 2000 + 20 * 256 * 400);
    EQUAL(rig_end(&rig, 0, 0, 21), 21 * 2000 + 256 * 400);
    EQUAL(rig_end(&rig, 1, 0, 1), 21 * 2000 + 256 * 400 + 256 + 256 + 1000 + 256);
    rig_fini(&rig);
}

CHECK_MAIN("machine/hbm", CHECK_TEST(test_bandwidth_is_exact), CHECK_TEST(test_interleave),
           CHECK_TEST(test_refresh), CHECK_TEST(test_refresh_of_a_stream),
           CHECK_TEST(test_shares_are_shared), CHECK_TEST(test_uneven_channels))
