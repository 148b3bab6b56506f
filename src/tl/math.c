/* MATH: each function checks its inputs, finds or checks the place of its result, and puts one
 * command. */
#include "tl/check.h"

static void put(struct tl *tl, enum math_fn fn, const struct tl_tensor *out,
                const struct tl_tensor *a, const struct tl_tensor *b, float scalar)
{
    struct command command = {
        .op = OP_MATH, .fn = (uint8_t)fn, .scalar = scalar, .out = tl_operand(out)};
    if (a != NULL)
        command.a = tl_operand(a);
    if (b != NULL)
        command.b = tl_operand(b);
    tl_put(tl, &command);
}

/* `out` as the place of a result of this shape computed from `a`. */
static void check_out(struct tl *tl, const struct tl_tensor *out, const struct tl_tensor *a,
                      uint32_t rows, uint32_t cols)
{
    tl_check_scratch(tl, "out", out);
    tl_check_size(tl, "out", out, rows, cols);
    tl_check_alias(tl, "out", out, "an input", a);
}

/* ---- one f32 input; `cols` of the result: 1 for reductions ---- */

static struct tl_tensor unary(struct tl *tl, const char *call, enum math_fn fn,
                              const struct tl_tensor *a, bool reduces, float scalar)
{
    tl->call = call;
    tl_check_f32(tl, "a", a);
    struct tl_tensor out = tl_allocate(tl, a->rows, reduces ? 1 : a->cols, DTYPE_F32);
    put(tl, fn, &out, a, NULL, scalar);
    return out;
}

static void unary_to(struct tl *tl, const char *call, enum math_fn fn, const struct tl_tensor *out,
                     const struct tl_tensor *a, bool reduces, float scalar)
{
    tl->call = call;
    tl_check_f32(tl, "a", a);
    tl_check_f32(tl, "out", out);
    check_out(tl, out, a, a->rows, reduces ? 1 : a->cols);
    put(tl, fn, out, a, NULL, scalar);
}

struct tl_tensor tl_max(struct tl *tl, struct tl_tensor a)
{
    return unary(tl, "tl_max", MATH_MAX, &a, true, 0);
}

void tl_max_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a)
{
    unary_to(tl, "tl_max_to", MATH_MAX, &out, &a, true, 0);
}

struct tl_tensor tl_sum(struct tl *tl, struct tl_tensor a)
{
    return unary(tl, "tl_sum", MATH_SUM, &a, true, 0);
}

void tl_sum_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a)
{
    unary_to(tl, "tl_sum_to", MATH_SUM, &out, &a, true, 0);
}

struct tl_tensor tl_exp(struct tl *tl, struct tl_tensor a)
{
    return unary(tl, "tl_exp", MATH_EXP, &a, false, 0);
}

void tl_exp_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a)
{
    unary_to(tl, "tl_exp_to", MATH_EXP, &out, &a, false, 0);
}

struct tl_tensor tl_scale(struct tl *tl, struct tl_tensor a, float factor)
{
    return unary(tl, "tl_scale", MATH_SCALE, &a, false, factor);
}

void tl_scale_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a, float factor)
{
    unary_to(tl, "tl_scale_to", MATH_SCALE, &out, &a, false, factor);
}

struct tl_tensor tl_softmax(struct tl *tl, struct tl_tensor a)
{
    return unary(tl, "tl_softmax", MATH_SOFTMAX, &a, false, 0);
}

/* ---- two f32 inputs that stretch to a common shape ---- */

static uint32_t common(struct tl *tl, const struct tl_tensor *a, const struct tl_tensor *b,
                       uint32_t left, uint32_t right)
{
    if (left != right && left != 1 && right != 1)
        tl_reject(tl, "[%u, %u] and [%u, %u] do not stretch to one shape", a->rows, a->cols,
                  b->rows, b->cols);
    return left == 1 ? right : left;
}

static void check_pair(struct tl *tl, const char *call, const struct tl_tensor *a,
                       const struct tl_tensor *b, uint32_t *rows, uint32_t *cols)
{
    tl->call = call;
    tl_check_f32(tl, "a", a);
    tl_check_f32(tl, "b", b);
    *rows = common(tl, a, b, a->rows, b->rows);
    *cols = common(tl, a, b, a->cols, b->cols);
}

static struct tl_tensor binary(struct tl *tl, const char *call, enum math_fn fn,
                               const struct tl_tensor *a, const struct tl_tensor *b)
{
    uint32_t rows, cols;
    check_pair(tl, call, a, b, &rows, &cols);
    struct tl_tensor out = tl_allocate(tl, rows, cols, DTYPE_F32);
    put(tl, fn, &out, a, b, 0);
    return out;
}

static void binary_to(struct tl *tl, const char *call, enum math_fn fn, const struct tl_tensor *out,
                      const struct tl_tensor *a, const struct tl_tensor *b)
{
    uint32_t rows, cols;
    check_pair(tl, call, a, b, &rows, &cols);
    tl_check_f32(tl, "out", out);
    check_out(tl, out, a, rows, cols);
    check_out(tl, out, b, rows, cols);
    put(tl, fn, out, a, b, 0);
}

#define BINARY(name, FN)                                                                           \
    struct tl_tensor name(struct tl *tl, struct tl_tensor a, struct tl_tensor b)                   \
    {                                                                                              \
        return binary(tl, #name, MATH_##FN, &a, &b);                                               \
    }                                                                                              \
    void name##_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a, struct tl_tensor b)    \
    {                                                                                              \
        binary_to(tl, #name "_to", MATH_##FN, &out, &a, &b);                                       \
    }

BINARY(tl_maximum, MAXIMUM)
BINARY(tl_add, ADD)
BINARY(tl_sub, SUB)
BINARY(tl_mul, MUL)
BINARY(tl_div, DIV)

/* ---- of any type ---- */

struct tl_tensor tl_full(struct tl *tl, uint32_t rows, uint32_t cols, enum tl_dtype dtype,
                         float value)
{
    tl->call = "tl_full";
    struct tl_tensor out = tl_allocate(tl, rows, cols, dtype);
    put(tl, MATH_FULL, &out, NULL, NULL, value);
    return out;
}

void tl_full_to(struct tl *tl, struct tl_tensor out, float value)
{
    tl->call = "tl_full_to";
    tl_check_scratch(tl, "out", &out);
    put(tl, MATH_FULL, &out, NULL, NULL, value);
}

struct tl_tensor tl_cast(struct tl *tl, struct tl_tensor a, enum tl_dtype dtype)
{
    tl->call = "tl_cast";
    tl_check_scratch(tl, "a", &a);
    struct tl_tensor out = tl_allocate(tl, a.rows, a.cols, dtype);
    put(tl, MATH_CAST, &out, &a, NULL, 0);
    return out;
}

void tl_cast_to(struct tl *tl, struct tl_tensor out, struct tl_tensor a)
{
    tl->call = "tl_cast_to";
    tl_check_scratch(tl, "a", &a);
    check_out(tl, &out, &a, a.rows, a.cols);
    put(tl, MATH_CAST, &out, &a, NULL, 0);
}

struct tl_tensor tl_broadcast(struct tl *tl, struct tl_tensor a, uint32_t rows, uint32_t cols)
{
    tl->call = "tl_broadcast";
    tl_check_scratch(tl, "a", &a);
    tl_check_stretches(tl, "a", &a, rows, cols);
    struct tl_tensor out = tl_allocate(tl, rows, cols, a.dtype);
    put(tl, MATH_BROADCAST, &out, &a, NULL, 0);
    return out;
}

struct tl_tensor tl_transpose(struct tl *tl, struct tl_tensor a)
{
    tl->call = "tl_transpose";
    tl_check_scratch(tl, "a", &a);
    struct tl_tensor out = tl_allocate(tl, a.cols, a.rows, a.dtype);
    put(tl, MATH_TRANSPOSE, &out, &a, NULL, 0);
    return out;
}

static void check_mask(struct tl *tl, uint32_t cols, uint64_t q_start, uint32_t q_len,
                       uint64_t k_start, uint64_t k_stride)
{
    uint64_t last;
    if (q_len == 0)
        tl_reject(tl, "q_len is 0");
    if (__builtin_add_overflow(q_start, q_len, &last) ||
        __builtin_mul_overflow(k_stride, cols, &last) ||
        __builtin_add_overflow(last, k_start, &last))
        tl_reject(tl, "a position overflows: queries from %llu, %u keys from %llu by %llu",
                  (unsigned long long)q_start, cols, (unsigned long long)k_start,
                  (unsigned long long)k_stride);
}

struct tl_tensor tl_causal_mask(struct tl *tl, uint32_t rows, uint32_t cols, uint64_t q_start,
                                uint32_t q_len, uint64_t k_start, uint64_t k_stride)
{
    tl->call = "tl_causal_mask";
    check_mask(tl, cols, q_start, q_len, k_start, k_stride);
    struct tl_tensor out = tl_allocate(tl, rows, cols, DTYPE_F32);
    struct command command = {
        .op = OP_MATH,
        .fn = MATH_CAUSAL_MASK,
        .spare = q_len,
        .index = {q_start, k_start, k_stride},
        .out = tl_operand(&out),
    };
    tl_put(tl, &command);
    return out;
}
