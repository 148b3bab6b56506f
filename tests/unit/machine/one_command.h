/* A command alone on a PE: composites, dots and MATH commands against closed forms. */
#ifndef AHBM_TESTS_ONE_COMMAND_H
#define AHBM_TESTS_ONE_COMMAND_H

#include "../check.h"
#include "rig.h"

enum { SUB_TILE = 4096 }; /* ps from the own share, of 64 x 32 bf16 */

static inline uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static inline struct command stream(uint32_t m, uint32_t k, uint32_t n, uint8_t epilogue)
{
    return make_gemm(OP_COMPOSITE, m, hbm_at(0, 0, k, n, DTYPE_BF16), epilogue);
}

static inline struct pe_result run_one(struct rig *rig, struct command command)
{
    rig_add(rig, 0, 0, command);
    RUN_CLEAN(rig);
    return rig_pe(rig, 0, 0);
}

#endif
