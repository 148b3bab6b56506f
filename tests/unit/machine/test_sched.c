/* Composites, dots and MATH commands against closed forms: the scheduler's plan, its pipeline, the
 * MAC array and the vector unit. A sub-tile of 64 x 32 bf16 takes 4096 ps from the own share. */
#include "../check.h"
#include "rig.h"

enum { SUB_TILE = 4096 };

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static struct command stream(uint32_t m, uint32_t k, uint32_t n, uint8_t epilogue)
{
    return make_gemm(OP_COMPOSITE, m, hbm_at(0, 0, k, n, DTYPE_BF16), epilogue);
}

static struct pe_result run_one(struct rig *rig, struct command command)
{
    rig_add(rig, 0, 0, command);
    RUN_CLEAN(rig);
    return rig_pe(rig, 0, 0);
}

/* Counts of the plan, for whole and ragged shapes. */
static void test_plan(void)
{
    static const uint32_t sizes[] = {1, 31, 32, 33, 63, 64, 65, 128, 200};
    for (size_t i = 0; i < 9; i++)
        for (size_t j = 0; j < 9; j++)
            for (size_t l = 0; l < 9; l++) {
                struct rig rig;
                struct hw_params params = rig_params(1, 1);
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
    struct hw_params params = rig_params(1, 1);
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
        struct hw_params params = rig_params(1, 1);
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
        struct hw_params params = rig_params(1, 1);
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
    struct hw_params params = rig_params(1, 1);
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

/* Everything in scratch: the plan goes to the array at once. */
static void test_dot(void)
{
    for (int op = OP_COMPOSITE; op <= OP_DOT; op++) {
        struct rig rig;
        struct hw_params params = rig_params(1, 1);
        params.gemm.macs_per_cycle = 4096;
        params.gemm.fill_cycles = 7;
        params.cpu.issue_ps[op] = 13;
        rig_init(&rig, &params);
        struct pe_result pe = run_one(
            &rig, make_gemm((enum op)op, 40, scratch_at(0, 100, 70, DTYPE_BF16), EPILOGUE_NONE));
        uint64_t steps = 2 * 2 * 3;
        EQUAL(pe.gemm.steps, steps);
        EQUAL(pe.dma.requests, 0);
        EQUAL(pe.cpu.counts[COUNT_DMA_READ], 0);
        EQUAL(rig_end(&rig, 0, 0, 1), 13 + steps * 16 + 7 + 40 * 6 * 4);
        rig_fini(&rig);
    }
}

/* Two composites: the second's sub-tiles follow the first's without a gap, and the array serves
 * them in order. */
static void test_composites_in_a_row(void)
{
    struct rig rig;
    struct hw_params params = rig_params(1, 1);
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

/* ---- the vector unit ---- */

static struct hw_params math_params(void)
{
    struct hw_params params = rig_params(1, 1);
    params.math.clock = (struct rate){7, 3};
    params.math.startup_ps = 1000;
    params.math.simple_cycles = 3;
    params.math.exp_cycles = 11;
    params.math.div_cycles = 17;
    params.math.reduce_tail_cycles = 29;
    return params;
}

static void check_math(enum math_fn fn, struct operand out, struct operand a, uint64_t cycles)
{
    struct rig rig;
    struct hw_params params = math_params();
    rig_init(&rig, &params);
    struct pe_result pe = run_one(&rig, make_math(fn, out, a));
    uint64_t duration = 1000 + ceil_rate(params.math.clock, cycles);
    if (rig_end(&rig, 0, 0, 1) != duration)
        fprintf(stderr, "\n  %s\n", math_fn_name(fn));
    EQUAL(rig_end(&rig, 0, 0, 1), duration);
    EQUAL(pe.busy_ps[ENGINE_MATH], duration);
    EQUAL(pe.cpu.counts[COUNT_MATH], 1);
    rig_fini(&rig);
}

/* 300 elements are 3 vectors of 128 lanes. */
static void test_math_functions(void)
{
    struct operand a = scratch_at(0, 10, 30, DTYPE_F32),
                   out = scratch_at(0x1000, 10, 30, DTYPE_F32);
    struct operand column = scratch_at(0x1000, 10, 1, DTYPE_F32), none = {.space = SPACE_NONE};
    static const enum math_fn simple[] = {MATH_MAXIMUM, MATH_ADD,       MATH_SUB,
                                          MATH_MUL,     MATH_SCALE,     MATH_BROADCAST,
                                          MATH_CAST,    MATH_TRANSPOSE, MATH_CAUSAL_MASK};
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        check_math(simple[i], out, a, 3 * 3);
    check_math(MATH_FULL, out, none, 3 * 3);
    check_math(MATH_EXP, out, a, 3 * 11);
    check_math(MATH_DIV, out, a, 3 * 17);
    check_math(MATH_MAX, column, a, 3 * 3 + 29);
    check_math(MATH_SUM, column, a, 3 * 3 + 29);
    check_math(MATH_SOFTMAX, out, a, 3 * (3 * 3 + 11 + 17) + 2 * 29);
    /* A vector that is not full costs a whole one, and no more than 128 fit. */
    check_math(MATH_ADD, scratch_at(0, 1, 1, DTYPE_F32), scratch_at(0, 1, 1, DTYPE_F32), 3);
    check_math(MATH_ADD, scratch_at(0, 1, 128, DTYPE_F32), scratch_at(0, 1, 128, DTYPE_F32), 3);
    check_math(MATH_ADD, scratch_at(0, 1, 129, DTYPE_F32), scratch_at(0, 1, 129, DTYPE_F32), 6);
    /* Stretching is as long as its result. */
    check_math(MATH_ADD, out, column, 3 * 3);
}

/* A composite with one output tile: M = 8, N = 32 are 256 elements, 2 vectors. */
static void check_epilogue(uint8_t epilogue, uint64_t cycles)
{
    struct rig rig;
    struct hw_params params = math_params();
    rig_init(&rig, &params);
    struct pe_result pe = run_one(&rig, stream(8, 64, 32, epilogue));
    uint64_t duration = ceil_rate(params.math.clock, cycles);
    EQUAL(rig_end(&rig, 0, 0, 1), SUB_TILE + 1 + duration + 8 * 32 * 4);
    EQUAL(pe.busy_ps[ENGINE_MATH], duration);
    EQUAL(pe.cpu.counts[COUNT_MATH], 0);
    rig_fini(&rig);
}

static void test_epilogues(void)
{
    check_epilogue(EPILOGUE_NONE, 0);
    check_epilogue(EPILOGUE_SCALE, 2 * 3);
    check_epilogue(EPILOGUE_ADD, 2 * 3);
    check_epilogue(EPILOGUE_SCALE | EPILOGUE_ADD, 2 * 6);
    check_epilogue(EPILOGUE_RESCALE, 2 * 6);
    uint64_t merge = 2 * (3 * 3 + 11) + 2 * 29 + 4 * 3 + 11;
    check_epilogue(EPILOGUE_SOFTMAX_MERGE, merge);
    check_epilogue(EPILOGUE_SCALE | EPILOGUE_SOFTMAX_MERGE, merge + 2 * 3);
}

/* Epilogues of earlier output tiles hide behind the fetches of later ones; softmax_merge needs the
 * row maxima and comes once, at the end. */
static void test_epilogues_overlap(void)
{
    struct hw_params params = math_params();
    uint64_t one = ceil_rate(params.math.clock, 2 * 3);
    struct rig rig;
    rig_init(&rig, &params);
    struct pe_result pe = run_one(&rig, stream(8, 64, 128, EPILOGUE_SCALE));
    EQUAL(rig_end(&rig, 0, 0, 1), 4 * SUB_TILE + 1 + one + 8 * 32 * 4);
    EQUAL(pe.busy_ps[ENGINE_MATH], 4 * one);
    rig_fini(&rig);
    rig_init(&rig, &params);
    pe = run_one(&rig, stream(8, 64, 128, EPILOGUE_SOFTMAX_MERGE));
    uint64_t merge = ceil_rate(params.math.clock, 8 * (3 * 3 + 11) + 2 * 29 + 4 * 3 + 11);
    EQUAL(pe.busy_ps[ENGINE_MATH], merge);
    EQUAL(rig_end(&rig, 0, 0, 1), 4 * SUB_TILE + 1 + merge + 8 * 32 * 4);
    rig_fini(&rig);
}

CHECK_MAIN("machine/sched", CHECK_TEST(test_plan), CHECK_TEST(test_other_tiles),
           CHECK_TEST(test_fetches_do_not_depend_on_m), CHECK_TEST(test_sub_tiles_in_pieces),
           CHECK_TEST(test_pipeline_depth), CHECK_TEST(test_dot),
           CHECK_TEST(test_composites_in_a_row), CHECK_TEST(test_math_functions),
           CHECK_TEST(test_epilogues), CHECK_TEST(test_epilogues_overlap))
