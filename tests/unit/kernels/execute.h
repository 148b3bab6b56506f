/* What commands compute, written the plain way: one element after the other, f32 arithmetic, bf16
 * rounded to nearest even. */
#ifndef AHBM_TESTS_KERNELS_EXECUTE_H
#define AHBM_TESTS_KERNELS_EXECUTE_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "../check.h"
#include "prog/command.h"
#include "support/memory.h"

struct pe_memory {
    uint8_t *scratch;
    uint8_t *share;
};

static inline float from_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static inline uint16_t to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* An operand and the memory that it lies in. */
struct matrix {
    uint8_t *base;
    struct operand shape;
};

static inline float matrix_get(const struct matrix *matrix, uint32_t row, uint32_t col)
{
    row = matrix->shape.rows == 1 ? 0 : row;
    col = matrix->shape.cols == 1 ? 0 : col;
    uint64_t at = (uint64_t)row * matrix->shape.cols + col;
    if (matrix->shape.dtype == DTYPE_F32) {
        float value;
        memcpy(&value, matrix->base + 4 * at, 4);
        return value;
    }
    uint16_t bits;
    memcpy(&bits, matrix->base + 2 * at, 2);
    return from_bf16(bits);
}

static inline void matrix_set(const struct matrix *matrix, uint32_t row, uint32_t col, float value)
{
    uint64_t at = (uint64_t)row * matrix->shape.cols + col;
    uint16_t bits = to_bf16(value);
    if (matrix->shape.dtype == DTYPE_F32)
        memcpy(matrix->base + 4 * at, &value, 4);
    else
        memcpy(matrix->base + 2 * at, &bits, 2);
}

static inline struct matrix matrix_of(struct pe_memory *own, struct pe_memory *hbm,
                                      const struct operand *operand)
{
    uint8_t *base = operand->space == SPACE_SCRATCH ? own->scratch
                    : operand->space == SPACE_HBM   ? hbm->share
                                                    : NULL;
    return (struct matrix){base ? base + operand->addr : NULL, *operand};
}

static inline float math_element(enum math_fn fn, float a, float b, float scalar)
{
    switch (fn) {
    case MATH_MAXIMUM:
        return fmaxf(a, b);
    case MATH_EXP:
        return expf(a);
    case MATH_ADD:
        return a + b;
    case MATH_SUB:
        return a - b;
    case MATH_MUL:
        return a * b;
    case MATH_DIV:
        return a / b;
    case MATH_SCALE:
        return a * scalar;
    case MATH_FULL:
        return scalar;
    case MATH_CAST:
    case MATH_BROADCAST:
        return a;
    default:
        CU_FAIL_FATAL("a MATH function that no test needs");
        return 0;
    }
}

static inline void execute_reduce(enum math_fn fn, const struct matrix *out, const struct matrix *a)
{
    for (uint32_t row = 0; row < a->shape.rows; row++) {
        float value = matrix_get(a, row, 0);
        for (uint32_t col = 1; col < a->shape.cols; col++)
            value = fn == MATH_MAX ? fmaxf(value, matrix_get(a, row, col))
                                   : value + matrix_get(a, row, col);
        matrix_set(out, row, 0, value);
    }
}

static inline void execute_mask(const struct command *command, const struct matrix *out)
{
    for (uint32_t row = 0; row < out->shape.rows; row++)
        for (uint32_t col = 0; col < out->shape.cols; col++) {
            uint64_t query = command->index[0] + row % command->spare;
            uint64_t key = command->index[1] + col * command->index[2];
            matrix_set(out, row, col, key <= query ? 0 : -FLT_MAX);
        }
}

static inline void execute_math(const struct command *command, const struct matrix *out,
                                const struct matrix *a, const struct matrix *b)
{
    if (command->fn == MATH_MAX || command->fn == MATH_SUM) {
        execute_reduce((enum math_fn)command->fn, out, a);
        return;
    }
    if (command->fn == MATH_CAUSAL_MASK) {
        execute_mask(command, out);
        return;
    }
    for (uint32_t row = 0; row < out->shape.rows; row++)
        for (uint32_t col = 0; col < out->shape.cols; col++)
            matrix_set(out, row, col,
                       math_element((enum math_fn)command->fn,
                                    a->base ? matrix_get(a, row, col) : 0,
                                    b->base ? matrix_get(b, row, col) : 0, command->scalar));
}

static inline float dot_product(const struct matrix *a, const struct matrix *b, uint32_t row,
                                uint32_t col)
{
    float sum = 0;
    for (uint32_t k = 0; k < a->shape.cols; k++)
        sum += matrix_get(a, row, k) * matrix_get(b, k, col);
    return sum;
}

/* One row of the softmax-merge epilogue: S in, P out, m, l and corr updated. */
static inline void merge_row(float *s, uint32_t cols, const struct matrix state[3], uint32_t row)
{
    float old = matrix_get(&state[0], row, 0), m = old, sum = 0;
    for (uint32_t col = 0; col < cols; col++)
        m = fmaxf(m, s[col]);
    for (uint32_t col = 0; col < cols; col++)
        sum += s[col] = expf(s[col] - m);
    float corr = expf(old - m);
    matrix_set(&state[0], row, 0, m);
    matrix_set(&state[1], row, 0, matrix_get(&state[1], row, 0) * corr + sum);
    matrix_set(&state[2], row, 0, corr);
}

static inline void execute_gemm(const struct command *command, const struct matrix *out,
                                const struct matrix *a, const struct matrix *b,
                                const struct matrix state[3])
{
    uint32_t cols = out->shape.cols;
    float *line = memory_new(cols, sizeof *line);
    for (uint32_t row = 0; row < out->shape.rows; row++) {
        for (uint32_t col = 0; col < cols; col++) {
            line[col] = dot_product(a, b, row, col);
            if (command->epilogue & EPILOGUE_SCALE)
                line[col] *= command->scalar;
            if (command->epilogue & EPILOGUE_RESCALE)
                line[col] += matrix_get(out, row, col) * matrix_get(&state[0], row, 0);
        }
        if (command->epilogue & EPILOGUE_SOFTMAX_MERGE)
            merge_row(line, cols, state, row);
        for (uint32_t col = 0; col < cols; col++)
            matrix_set(out, row, col, line[col]);
    }
    memory_free(line);
}

/* Executes a command other than a send or a receive. */
static inline void execute(struct pe_memory *own, struct pe_memory *hbm,
                           const struct command *command)
{
    struct matrix out = matrix_of(own, hbm, &command->out);
    struct matrix a = matrix_of(own, hbm, &command->a), b = matrix_of(own, hbm, &command->b);
    struct matrix state[3];
    for (int i = 0; i < 3; i++)
        state[i] = matrix_of(own, hbm, &command->state[i]);
    switch (command->op) {
    case OP_LOAD:
    case OP_STORE:
        memcpy(out.base, a.base, operand_bytes(&command->a));
        break;
    case OP_MATH:
        execute_math(command, &out, &a, &b);
        break;
    case OP_COMPOSITE:
    case OP_DOT:
        execute_gemm(command, &out, &a, &b, state);
        break;
    default:
        break;
    }
}

#endif
