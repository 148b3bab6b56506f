/* The DMA engine: set-up, channels, outstanding requests, and the way to another PE's share. */
#include "../check.h"
#include "machine/machine.h"
#include "config/config_schema.h"
#include "rig.h"

static uint64_t end_of_load(const struct machine_params *params, uint64_t bytes)
{
    struct rig rig;
    rig_init(&rig, params);
    rig_add(&rig, 0, 0, make_load(0, 0, 0, bytes));
    RUN_CLEAN(&rig);
    uint64_t end = rig_end(&rig, 0, 0, 1);
    struct pe_result pe = rig_pe(&rig, 0, 0);
    EQUAL(pe.dma.read_bytes, bytes);
    EQUAL(pe.hbm.read_bytes, bytes);
    EQUAL(pe.dma.requests, (bytes + params->dma.request_bytes - 1) / params->dma.request_bytes);
    EQUAL(pe.busy_ps[ENGINE_DMA], end - params->cpu.issue_ps[OP_LOAD]);
    rig_fini(&rig);
    return end;
}

static void test_set_up(void)
{
    struct machine_params params = rig_params(1, 1);
    params.cpu.issue_ps[OP_LOAD] = 11;
    params.dma.setup_ps = 200;
    params.dma.request_ps = 30;
    params.hbm.latency_ps = 5000;
    EQUAL(end_of_load(&params, 4096), 11 + 200 + 30 + 4096 + 5000);
    EQUAL(end_of_load(&params, 2 * 4096), 11 + 200 + 30 + 2 * 4096 + 5000);
    EQUAL(end_of_load(&params, 2 * 4096 + 1024), 11 + 200 + 30 + 2 * 4096 + 1024 + 5000);
}

/* When issuing is what takes long: n requests over c channels leave c at a time. */
static void test_channels(void)
{
    for (uint64_t channels = 1; channels <= 64; channels = channels * 2 + channels % 3)
        for (uint64_t n = 1; n <= 130; n += 43) {
            struct machine_params params = rig_params(1, 1);
            params.dma.channels = channels;
            params.dma.request_ps = 1000000;
            params.dma.queue_depth = 1024;
            params.dma.request_bytes = 1024;
            uint64_t turns = (n + channels - 1) / channels, together = n - (turns - 1) * channels;
            EQUAL(end_of_load(&params, n * 1024), turns * 1000000 + together * 1024);
        }
}

/* Every number of channels that a machine file may ask for has its place. */
static void test_all_channels_fit(void)
{
    size_t index = 0;
    CU_ASSERT_FATAL(config_schema_find("dma.channels", &index));
    CU_ASSERT_TRUE(strtoul(config_schema_row(index)->max, NULL, 10) <= DMA_CHANNELS_MAX);
}

/* `depth` requests outstanding, each away for its burst and the latency. */
static void test_queue_depth(void)
{
    for (uint64_t depth = 1; depth <= 16; depth++)
        for (uint64_t n = 1; n <= 40; n += 13) {
            struct machine_params params = rig_params(1, 1);
            params.dma.queue_depth = depth;
            params.hbm.latency_ps = 16 * 4096;
            uint64_t round = (n - 1) / depth, within = (n - 1) % depth;
            EQUAL(end_of_load(&params, n * 4096), (round + 1) * (4096 + 16 * 4096) + within * 4096);
        }
}

/* Loads are set up one after another, and stores are counted as writing. */
static void test_jobs_in_order(void)
{
    struct rig rig;
    struct machine_params params = rig_params(1, 1);
    params.dma.setup_ps = 10000;
    rig_init(&rig, &params);
    rig_add(&rig, 0, 0, make_load(0, 0, 0, 4096));
    rig_add(&rig, 0, 0, make_store(0, 8192, 8192, 4096));
    rig_add(&rig, 0, 0, make_load(0, 4096, 4096, 2048));
    RUN_CLEAN(&rig);
    EQUAL(rig_end(&rig, 0, 0, 1), 10000 + 4096);
    EQUAL(rig_end(&rig, 0, 0, 2), 20000 + 4096);
    EQUAL(rig_end(&rig, 0, 0, 3), 30000 + 2048);
    struct pe_result pe = rig_pe(&rig, 0, 0);
    EQUAL(pe.dma.read_bytes, 4096 + 2048);
    EQUAL(pe.dma.write_bytes, 4096);
    EQUAL(pe.hbm.write_bytes, 4096);
    EQUAL(pe.cpu.last_store_ps, 20000 + 4096);
    EQUAL(pe.cpu.counts[COUNT_DMA_READ], 2);
    EQUAL(pe.cpu.counts[COUNT_DMA_WRITE], 1);
    rig_fini(&rig);
}

/* ---- another PE's share ---- */

static uint64_t distance(const struct geometry *geometry, uint32_t a, uint32_t b)
{
    struct position p = grid_position(geometry->pes, a), q = grid_position(geometry->pes, b);
    return (uint64_t)(abs((int)p.x - (int)q.x) + abs((int)p.y - (int)q.y));
}

/* There and back over the PE mesh, store and forward: the request of 16 bytes and the data. */
static void check_remote(uint32_t from, uint32_t to, bool store)
{
    struct rig rig;
    struct machine_params params = rig_params(1, 1);
    params.hbm.latency_ps = 333;
    rig_init(&rig, &params);
    rig_add(&rig, 0, from, store ? make_store(to, 0, 0, 1024) : make_load(to, 0, 0, 1024));
    RUN_CLEAN(&rig);
    uint64_t hops = distance(&params.geometry, from, to);
    EQUAL(rig_end(&rig, 0, from, 1), 1024 + 333 + hops * (16 + 100 + 1024 + 100));
    struct pe_result own = rig_pe(&rig, 0, from), other = rig_pe(&rig, 0, to);
    EQUAL(store ? own.dma.write_bytes : own.dma.read_bytes, 1024);
    EQUAL(store ? other.hbm.write_bytes : other.hbm.read_bytes, 1024);
    EQUAL(other.hbm.write_bytes + other.hbm.read_bytes, 1024);
    uint64_t on_links = 0;
    for (uint32_t pe = 0; pe < 8; pe++)
        for (int d = 0; d < DIRECTIONS; d++)
            on_links += rig_pe(&rig, 0, pe).links.bytes[d];
    EQUAL(on_links, hops * (1024 + 16));
    rig_fini(&rig);
}

static void test_remote_shares(void)
{
    for (uint32_t from = 0; from < 8; from++)
        for (uint32_t to = 0; to < 8; to++) {
            check_remote(from, to, false);
            check_remote(from, to, true);
        }
}

CHECK_MAIN("machine/dma", CHECK_TEST(test_set_up), CHECK_TEST(test_channels),
           CHECK_TEST(test_all_channels_fit), CHECK_TEST(test_queue_depth),
           CHECK_TEST(test_jobs_in_order), CHECK_TEST(test_remote_shares))
