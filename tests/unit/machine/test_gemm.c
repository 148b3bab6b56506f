/* The MAC array alone: operands in scratch, against the closed form. */
#include "one_command.h"

/* Everything in scratch: the plan goes to the array at once. */
static void test_dot(void)
{
    for (int op = OP_COMPOSITE; op <= OP_DOT; op++) {
        struct rig rig;
        struct machine_params params = rig_params(1, 1);
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

CHECK_MAIN("machine/gemm", CHECK_TEST(test_dot))
