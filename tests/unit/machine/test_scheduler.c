/* Composites against closed forms: the scheduler's plan and its pipeline. */
#include "one_command.h"

/* Counts of the plan, for whole and ragged shapes. */
static void test_plan(void)
{
    static const uint32_t sizes[] = {1, 31, 32, 33, 63, 64, 65, 128, 200};
    for (size_t i = 0; i < 9; i++)
        for (size_t j = 0; j < 9; j++)
            for (size_t l = 0; l < 9; l++) {
                struct rig rig;
                struct machine_params params = rig_params(1, 1);
                uint64_t m = sizes[i], k = sizes[j], n = sizes[l];
                uint64_t fetches = ceil_div(k, 64) * ceil_div(n, 32);
                uint64_t steps = ceil_div(m, 32) * fetches;
                params.gemm.macs_per_cycle = 4096;
                rig_init(&rig, &params);
                struct pe_result pe =
                    run_one(&rig, stream((uint32_t)m, (uint32_t)k, (uint32_t)n, EPILOGUE_NONE));
                CU_ASSERT_EQUAL(pe.gemm.steps, steps);
                CU_ASSERT_EQUAL(pe.busy_ps[ENGINE_GEMM], steps * 16);
                CU_ASSERT_EQUAL(pe.dma.requests, fetches);
                CU_ASSERT_EQUAL(pe.dma.read_bytes, k * n * 2);
                CU_ASSERT_EQUAL(pe.hbm.read_bytes, k * n * 2);
                CU_ASSERT_EQUAL(pe.sched.useful_macs, m * k * n);
                CU_ASSERT_EQUAL(pe.cpu.counts[COUNT_DMA_READ], 1);
                CU_ASSERT_EQUAL(pe.cpu.counts[COUNT_GEMM], 1);
                CU_ASSERT_TRUE(rig_end(&rig, 0, 0, 1) >= k * n * 2 + m * 4);
                rig_fini(&rig);
            }
}

/* Other tile sizes, and a step that is no whole number of cycles. */
static void test_other_tiles(void)
{
    struct rig rig;
    struct machine_params params = rig_params(1, 1);
    params.sched.tile_m = 8;
    params.sched.tile_k = 16;
    params.sched.tile_n = 10;
    params.gemm.macs_per_cycle = 100; /* 1280 MACs: 13 cycles */
    rig_init(&rig, &params);
    struct pe_result pe = run_one(&rig, stream(20, 50, 25, EPILOGUE_NONE));
    EQUAL(pe.gemm.steps, 3 * 4 * 3);
    EQUAL(pe.dma.requests, 4 * 3);
    EQUAL(pe.busy_ps[ENGINE_GEMM], 3 * 4 * 3 * 13);
    rig_fini(&rig);
}

/* K and V are fetched once, whatever G (the rows of `a`) is. */
static void test_fetches_do_not_depend_on_m(void)
{
    for (uint32_t m = 1; m <= 512; m = 2 * m + (m % 3)) {
        struct rig rig;
        struct machine_params params = rig_params(1, 1);
        rig_init(&rig, &params);
        struct pe_result pe = run_one(&rig, stream(m, 128, 256, EPILOGUE_NONE));
        EQUAL(pe.dma.requests, 16);
        EQUAL(pe.dma.read_bytes, 128 * 256 * 2);
        EQUAL(pe.gemm.steps, 16 * ceil_div(m, 32));
        rig_fini(&rig);
    }
}

/* A sub-tile that comes in several requests is multiplied once, when all of it is there. */
static void test_sub_tiles_in_pieces(void)
{
    for (uint64_t request = 64; request <= 8192; request *= 2) {
        struct rig rig;
        struct machine_params params = rig_params(1, 1);
        params.dma.request_bytes = request;
        params.dma.queue_depth = 1024;
        params.hbm.latency_ps = 100;
        params.gemm.macs_per_cycle = 4096;
        rig_init(&rig, &params);
        struct pe_result pe = run_one(&rig, stream(32, 150, 80, EPILOGUE_NONE));
        EQUAL(pe.gemm.steps, 3 * 3);
        EQUAL(pe.busy_ps[ENGINE_GEMM], 9 * 16);
        EQUAL(pe.dma.read_bytes, 150 * 80 * 2);
        rig_fini(&rig);
        rig_init(&rig, &params);
        pe = run_one(&rig, stream(32, 128, 64, EPILOGUE_NONE)); /* whole sub-tiles */
        EQUAL(pe.dma.requests, 4 * (request > SUB_TILE ? 1 : SUB_TILE / request));
        EQUAL(rig_end(&rig, 0, 0, 1), 4 * SUB_TILE + 100 + 16 + 32 * 32 * 4);
        rig_fini(&rig);
    }
}

/* The end of a composite of 16 sub-tiles and 4 output tiles, M = 32, for one pipeline depth. */
static uint64_t end_at_depth(uint64_t depth, uint64_t latency, uint64_t step, uint64_t fill)
{
    struct rig rig;
    struct machine_params params = rig_params(1, 1);
    params.sched.pipeline_depth = depth;
    params.hbm.latency_ps = latency;
    params.gemm.macs_per_cycle = ceil_div(65536, step);
    params.gemm.fill_cycles = fill;
    rig_init(&rig, &params);
    run_one(&rig, stream(32, 256, 128, EPILOGUE_NONE));
    uint64_t end = rig_end(&rig, 0, 0, 1);
    rig_fini(&rig);
    return end;
}

static void test_pipeline_depth(void)
{
    enum { TILES = 16, OUT = 32 * 32 * 4 };
    uint64_t before = UINT64_MAX;
    for (uint64_t depth = 1; depth <= TILES; depth++) {
        uint64_t end = end_at_depth(depth, 20000, 1024, 50);
        CU_ASSERT_TRUE(end <= before);
        before = end;
    }
    /* One at a time: fetch, latency, multiply, fill. */
    EQUAL(end_at_depth(1, 20000, 1024, 50), TILES * (SUB_TILE + 20000 + 1024 + 50) + OUT);
    /* Deep enough to cover 20000 ps: the share never rests. */
    EQUAL(end_at_depth(8, 20000, 1024, 50), TILES * SUB_TILE + 20000 + 1024 + 50 + OUT);
    EQUAL(end_at_depth(TILES, 20000, 1024, 50), TILES * SUB_TILE + 20000 + 1024 + 50 + OUT);
    /* The array never rests when it is the slower one. */
    EQUAL(end_at_depth(8, 100, 8192, 50), SUB_TILE + 100 + TILES * 8192 + 50 + OUT);
}

/* Two composites: the second's sub-tiles follow the first's without a gap, and the array serves
 * them in order. */
static void test_composites_in_a_row(void)
{
    struct rig rig;
    struct machine_params params = rig_params(1, 1);
    params.hbm.latency_ps = 500;
    rig_init(&rig, &params);
    for (uint64_t i = 0; i < 4; i++) {
        struct command command = stream(8, 64, 64, EPILOGUE_NONE);
        command.out.addr += i << 13;
        command.b.addr += i << 13;
        rig_add(&rig, 0, 0, command);
    }
    RUN_CLEAN(&rig);
    for (uint64_t i = 0; i < 4; i++)
        EQUAL(rig_end(&rig, 0, 0, i + 1), 2 * (i + 1) * SUB_TILE + 500 + 1 + 8 * 32 * 4);
    EQUAL(rig_pe(&rig, 0, 0).busy_ps[ENGINE_DMA], 8 * SUB_TILE + 500);
    rig_fini(&rig);
}

CHECK_MAIN("machine/scheduler", CHECK_TEST(test_plan), CHECK_TEST(test_other_tiles),
           CHECK_TEST(test_fetches_do_not_depend_on_m), CHECK_TEST(test_sub_tiles_in_pieces),
           CHECK_TEST(test_pipeline_depth), CHECK_TEST(test_composites_in_a_row))
