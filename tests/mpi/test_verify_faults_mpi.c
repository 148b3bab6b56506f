/* Tests of the test: each deliberate fault in a kernel, in a placement or in the inputs makes
 * verification fail; the same kernel without it passes, decode and causal, in all cases. */
#include <math.h>

#include "faulty_kernel.h"
#include "verify_rig.h"

/* A point that every fault can show in: three tiles per PE, two requests, 16 query positions. */
static struct rig rig_for(uint32_t case_number, enum fault fault)
{
    static const uint32_t ranks[] = {8, 1, 8, 64};
    struct rig rig = rig_new(case_number, ranks[case_number - 1] * UINT64_C(90));
    rig.options.tile = 32;
    rig.options.batch = 2;
    rig.options.query_len = 16;
    rig.machine[1] = "model.query_heads=16"; /* G = 2 */
    rig.kernel = &faulty_kernels[fault];
    return rig;
}

static struct verify_result verify_fault(uint32_t case_number, enum fault fault)
{
    struct rig rig = rig_for(case_number, fault);
    rig_run(&rig);
    rig_fini(&rig);
    return rig.verify;
}

static void test_without_fault(void)
{
    for (uint32_t case_number = 1; case_number <= CASES; case_number++) {
        struct verify_result result = verify_fault(case_number, FAULT_NONE);
        RIG_CHECK(result.passed);
        RIG_CHECK(result.rms_relative > 1e-4 && result.rms_relative < 4e-3);
        RIG_CHECK(result.missing == 0 && result.repeated == 0);
    }
}

static void check_fails(enum fault fault)
{
    for (uint32_t case_number = 1; case_number <= CASES; case_number++) {
        bool shows = fault != FAULT_SWAPPED_MERGE || case_number != 2; /* nothing is merged there */
        struct verify_result result = verify_fault(case_number, fault);
        RIG_CHECK(result.passed == !shows);
    }
}

#define X(id, text)                                                                                \
    static void test_fault_##id(void)                                                              \
    {                                                                                              \
        if (FAULT_##id != FAULT_NONE)                                                              \
            check_fails(FAULT_##id);                                                               \
    }
FAULTS(X)
#undef X

/* One tile of many: a hundredth of the context is missed. */
static void test_dropped_tile_of_many(void)
{
    struct rig rig = rig_new(4, 64 * UINT64_C(3200));
    rig.options.tile = 32;
    rig.kernel = &faulty_kernels[FAULT_DROPPED_TILE];
    rig_run(&rig);
    RIG_CHECK(!rig.verify.passed);
    RIG_CHECK(rig.verify.rms_relative > 0.05 && rig.verify.rms_relative < 0.2); /* sqrt(1 / 100) */
    rig_fini(&rig);
}

/* The CUBEs of the second group hold the first group's KV head, and say so. */
static void give_first_head(struct point *point)
{
    for (uint32_t i = 0; i < point->count; i++) {
        uint32_t within, group = problem_group(point->problem, point->first + i, &within);
        for (uint32_t pe = 0; group == 1 && pe < point->problem->launch.pes; pe++) {
            const struct value_share *share = value_engine_share(point->values[i], pe);
            for (uint32_t k = 0; k < share->inputs_count; k++)
                if (share->inputs[k].tensor != VALUE_Q)
                    share->inputs[k].head = 0;
        }
    }
}

static void test_kv_head_read_twice(void)
{
    struct rig rig = rig_new(4, 1000);
    rig.machine[0] = NULL; /* two groups */
    rig.spoil = give_first_head;
    rig_run(&rig);
    RIG_CHECK(!rig.verify.passed);
    RIG_CHECK(rig.verify.missing == 0 && rig.verify.repeated == 0);
    rig_fini(&rig);
}

/* Both groups take themselves for the first. */
static void claim_first_rows(struct point *point)
{
    for (uint32_t i = 0; i < point->count; i++)
        for (uint32_t pe = 0; pe < point->problem->launch.pes; pe++)
            value_engine_share(point->values[i], pe)->outputs[0].head = 0;
}

static void test_rows_stored_twice_and_never(void)
{
    struct rig rig = rig_new(4, 1000);
    rig.machine[0] = NULL;
    rig.spoil = claim_first_rows;
    rig_run(&rig);
    RIG_CHECK(!rig.verify.passed);
    RIG_CHECK(rig.verify.repeated == 8 && rig.verify.missing == 8);
    rig_fini(&rig);
}

static void test_missing_rows(void)
{
    struct verify_result result = verify_fault(4, FAULT_NO_STORE);
    RIG_CHECK(!result.passed);
    RIG_CHECK(result.missing == 2 * 2 * 16); /* requests, heads, positions */
    RIG_CHECK(isinf(result.rms_relative) && isinf(result.max_abs));
}

int main(int argc, char **argv)
{
#define X(id, text) RIG_TEST(test_fault_##id),
    static const struct rig_test tests[] = {
        FAULTS(X) RIG_TEST(test_without_fault),     RIG_TEST(test_dropped_tile_of_many),
        RIG_TEST(test_kv_head_read_twice),          RIG_TEST(test_missing_rows),
        RIG_TEST(test_rows_stored_twice_and_never),
    };
#undef X
    return rig_main(argc, argv, "verify/faults", tests, sizeof tests / sizeof tests[0]);
}
