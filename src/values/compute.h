/* What MATH functions and the epilogues of GEMMs compute, on f32 matrices. */
#ifndef AHBM_VALUES_COMPUTE_H
#define AHBM_VALUES_COMPUTE_H

#include <stddef.h>

#include "prog/command.h"

/* A dense row-major matrix; NULL data: there is none. */
struct matrix {
    float *data;
    uint32_t rows, cols;
};

/* out = command->fn(a, b). `out` may be `a` or `b` itself where the function goes element by
 * element, and overlaps no other input. */
void compute_math(const struct command *command, const struct matrix *a, const struct matrix *b,
                  const struct matrix *out);

/* Applies the command's epilogue to `product` = a . b and leaves the result in `out` (whose old
 * values RESCALE reads); `product` is lost. `c` and `state` as in struct command. */
void compute_epilogue(const struct command *command, const struct matrix *product,
                      const struct matrix *c, const struct matrix state[3],
                      const struct matrix *out);

/* a, or b when that is larger; a NaN when either is one. */
static inline float compute_maximum(float a, float b)
{
    return a >= b || a != a ? a : b;
}

float compute_row_maximum(const float *row, size_t cols);

/* By vector lanes, whose partial sums are added at the end. */
float compute_row_sum(const float *row, size_t cols);

/* to = exp(from - m); `to` may be `from`. */
void compute_row_exp(const float *from, size_t cols, float m, float *to);

#endif
