/* The MATH functions. All arithmetic is f32; a NaN passes through every function, maxima included,
 * so that what was never written shows. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "values/compute.h"

/* Steps that make an input stretch to the shape of the output. */
struct stretch {
    size_t row, col;
};

static struct stretch stretch_of(const struct matrix *input)
{
    return (struct stretch){input->rows == 1 ? 0 : input->cols, input->cols == 1 ? 0 : 1};
}

#define BINARY(name, expression)                                                                   \
    static void name(const struct matrix *a, const struct matrix *b, const struct matrix *out)     \
    {                                                                                              \
        struct stretch sa = stretch_of(a), sb = stretch_of(b);                                     \
        for (size_t row = 0; row < out->rows; row++)                                               \
            for (size_t col = 0; col < out->cols; col++) {                                         \
                float x = a->data[row * sa.row + col * sa.col];                                    \
                float y = b->data[row * sb.row + col * sb.col];                                    \
                out->data[row * out->cols + col] = (expression);                                   \
            }                                                                                      \
    }

BINARY(run_maximum, compute_maximum(x, y))
BINARY(run_add, x + y)
BINARY(run_sub, x - y)
BINARY(run_mul, (x) * (y))
BINARY(run_div, x / y)

static void run_exp(const struct matrix *a, const struct matrix *out)
{
    compute_row_exp(a->data, (size_t)a->rows * a->cols, 0.0f, out->data);
}

static void run_scale(const struct matrix *a, float factor, const struct matrix *out)
{
    for (size_t i = 0; i < (size_t)a->rows * a->cols; i++)
        out->data[i] = a->data[i] * factor;
}

static void run_full(float value, const struct matrix *out)
{
    for (size_t i = 0; i < (size_t)out->rows * out->cols; i++)
        out->data[i] = value;
}

static void run_broadcast(const struct matrix *a, const struct matrix *out)
{
    struct stretch step = stretch_of(a);
    for (size_t row = 0; row < out->rows; row++)
        for (size_t col = 0; col < out->cols; col++)
            out->data[row * out->cols + col] = a->data[row * step.row + col * step.col];
}

static void run_transpose(const struct matrix *a, const struct matrix *out)
{
    for (size_t row = 0; row < a->rows; row++)
        for (size_t col = 0; col < a->cols; col++)
            out->data[col * a->rows + row] = a->data[row * a->cols + col];
}

float compute_row_maximum(const float *row, size_t cols)
{
    float value = row[0];
    for (size_t col = 1; col < cols; col++)
        value = compute_maximum(value, row[col]);
    return value;
}

float compute_row_sum(const float *row, size_t cols)
{
    enum { LANES = 16 };
    float lanes[LANES] = {0}, sum = 0;
    for (size_t col = 0; col < cols; col++)
        lanes[col % LANES] += row[col];
    for (int lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    return sum;
}

void compute_row_exp(const float *from, size_t cols, float m, float *to)
{
    for (size_t col = 0; col < cols; col++)
        to[col] = expf(from[col] - m);
}

static void run_reduction(enum math_fn fn, const struct matrix *a, const struct matrix *out)
{
    for (size_t row = 0; row < a->rows; row++) {
        const float *from = a->data + row * a->cols;
        out->data[row] =
            fn == MATH_MAX ? compute_row_maximum(from, a->cols) : compute_row_sum(from, a->cols);
    }
}

static void run_softmax(const struct matrix *a, const struct matrix *out)
{
    for (size_t row = 0; row < a->rows; row++) {
        const float *from = a->data + row * a->cols;
        float *to = out->data + row * a->cols;
        compute_row_exp(from, a->cols, compute_row_maximum(from, a->cols), to);
        float sum = compute_row_sum(to, a->cols);
        for (size_t col = 0; col < a->cols; col++)
            to[col] /= sum;
    }
}

static void run_mask(const struct command *command, const struct matrix *out)
{
    const uint64_t *index = command->index;
    for (size_t row = 0; row < out->rows; row++) {
        uint64_t query = index[0] + row % command->spare;
        for (size_t col = 0; col < out->cols; col++)
            out->data[row * out->cols + col] = index[1] + col * index[2] <= query ? 0.0f : -FLT_MAX;
    }
}

static void run_elementwise(const struct command *command, const struct matrix *a,
                            const struct matrix *b, const struct matrix *out)
{
    switch ((enum math_fn)command->fn) {
    case MATH_MAXIMUM:
        run_maximum(a, b, out);
        break;
    case MATH_ADD:
        run_add(a, b, out);
        break;
    case MATH_SUB:
        run_sub(a, b, out);
        break;
    case MATH_MUL:
        run_mul(a, b, out);
        break;
    case MATH_DIV:
        run_div(a, b, out);
        break;
    case MATH_EXP:
        run_exp(a, out);
        break;
    default: /* MATH_SCALE */
        run_scale(a, command->scalar, out);
    }
}

void compute_math(const struct command *command, const struct matrix *a, const struct matrix *b,
                  const struct matrix *out)
{
    switch ((enum math_fn)command->fn) {
    case MATH_MAX:
    case MATH_SUM:
        run_reduction((enum math_fn)command->fn, a, out);
        break;
    case MATH_SOFTMAX:
        run_softmax(a, out);
        break;
    case MATH_CAST: /* the types of input and output do it */
    case MATH_BROADCAST:
        run_broadcast(a, out);
        break;
    case MATH_TRANSPOSE:
        run_transpose(a, out);
        break;
    case MATH_FULL:
        run_full(command->scalar, out);
        break;
    case MATH_CAUSAL_MASK:
        run_mask(command, out);
        break;
    default:
        run_elementwise(command, a, b, out);
    }
}
