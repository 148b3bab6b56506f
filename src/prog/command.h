/* One command of a PE's program, as recorded by `tl` and run by `machine`. */
#ifndef AHBM_PROG_COMMAND_H
#define AHBM_PROG_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "prog/op.h"

enum space { SPACE_NONE, SPACE_SCRATCH, SPACE_HBM };

/* Instead of a PE: the operand is striped over all shares of the CUBE (prog/stripe.h). */
enum { OPERAND_STACK = UINT16_MAX };

/* A dense row-major matrix in the PE's scratch, in the HBM share of PE `pe` of the same CUBE, or
 * striped over all of these. */
struct operand {
    uint64_t addr; /* bytes from the start of the scratch, of the share or of the stack */
    uint32_t rows;
    uint32_t cols;
    uint16_t pe; /* HBM only: whose share, or OPERAND_STACK */
    uint8_t space;
    uint8_t dtype;
    uint32_t spare;
};

/* Fields by operation (in scratch unless noted):
 *   LOAD       a: HBM -> out                     STORE  a -> out: HBM
 *   COMPOSITE  out[M,N] = epilogue(a[M,K] . b[K,N]); b in scratch, or in HBM and then streamed.
 *              Epilogues in this order: SCALE by `scalar`; ADD `c`; RESCALE: out = out * state[0] +
 *              result; SOFTMAX_MERGE: out = P, state = m, l, corr
 *   DOT        as COMPOSITE, b in scratch
 *   MATH       out = fn(a, b); SCALE and FULL use `scalar`; CAUSAL_MASK uses `index`
 *   SEND       a -> queue        RECV, RECV_ASYNC  queue -> out        WAIT  until `out` is there
 */
struct command {
    uint8_t op;
    uint8_t fn;
    uint8_t queue;
    uint8_t epilogue; /* bits of enum epilogue */
    float scalar;
    uint32_t line; /* where the kernel recorded it */
    uint32_t spare;
    const char *file;
    uint64_t
        index[3]; /* CAUSAL_MASK: query position of row 0, key position of column 0, key stride */
    struct operand a, b, c, out;
    struct operand state[3]; /* read and written by the stateful epilogues; else SPACE_NONE */
};

static inline uint64_t operand_elements(const struct operand *operand)
{
    return (uint64_t)operand->rows * operand->cols;
}

static inline uint64_t operand_bytes(const struct operand *operand)
{
    return operand_elements(operand) * dtype_bytes((enum dtype)operand->dtype);
}

/* Whether two scratch operands share a byte. */
static inline bool operands_overlap(const struct operand *a, const struct operand *b)
{
    return a->space == SPACE_SCRATCH && b->space == SPACE_SCRATCH &&
           a->addr < b->addr + operand_bytes(b) && b->addr < a->addr + operand_bytes(a);
}

/* Whether the command makes something leave the CUBE: a copy to another CUBE, or the credit that
 * taking a message from another CUBE returns. */
static inline bool command_emits(const struct command *command)
{
    bool moves = command->op == OP_SEND || command->op == OP_RECV || command->op == OP_RECV_ASYNC;
    return moves && queue_level((enum queue_id)command->queue) != LEVEL_PE;
}

#endif
