/* The vector unit against closed forms: MATH commands, and epilogues behind the array. */
#include "one_command.h"

static struct machine_params math_params(void)
{
    struct machine_params params = rig_params(1, 1);
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
    struct machine_params params = math_params();
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
    struct machine_params params = math_params();
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
    struct machine_params params = math_params();
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

CHECK_MAIN("machine/math", CHECK_TEST(test_math_functions), CHECK_TEST(test_epilogues),
           CHECK_TEST(test_epilogues_overlap))
