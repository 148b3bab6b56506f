/* What each command computes: kernels are recorded through tl and executed in program order; what
 * they store is compared with the definition. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../check.h"
#include "support/memory.h"
#include "tl/record.h"
#include "values/engine.h"
#include "values/generator.h"
#include "values/number.h"

enum { PES = 2, DIM = 6, ROWS = 5, OUT = 65536, BYTES = 4096 };

/* Two inputs of 5 x 6 elements: Q at 0, V at 4096, all different and asymmetric. */
static void map_inputs(struct value_engine *engine)
{
    for (int i = 0; i < 2; i++) {
        struct value_region region = {.addr = (uint64_t)i * BYTES,
                                      .tensor = i ? VALUE_V : VALUE_Q,
                                      .rows = ROWS,
                                      .rows_per_head = ROWS,
                                      .token_step = 1};
        value_engine_map(engine, 0, &region);
    }
}

/* Runs `kernel` on PE 0 and copies `elements` f32 from where it stores them. */
static void run(tl_kernel *kernel, float *out, size_t elements)
{
    static const struct geometry geometry = {{1, 1}, {1, 1}, {PES, 1}, false, false, false};
    struct value_source *source = generator_new(11, DIM);
    struct value_config config = {PES, 1 << 20, source};
    struct value_engine *engine = value_engine_new(&config);
    struct tl_program_config recorded = {.name = "test",
                                         .kernel = kernel,
                                         .geometry = &geometry,
                                         .scratch_bytes = 1 << 20,
                                         .share_bytes = 1 << 20,
                                         .record_ahead = 4};
    recorded.launch = (struct tl_launch){.group_cubes = 1,
                                         .pes = PES,
                                         .cube_columns = 1,
                                         .cube_rows = 1,
                                         .pe_columns = PES,
                                         .pe_rows = 1};
    struct program *program = tl_program_new(&recorded);
    struct error err = {ERROR_NONE, ""};
    map_inputs(engine);
    const struct command *command = program->ops->next(program);
    for (; command->op != OP_END && command->op != OP_FAIL; command = program->ops->next(program))
        engine->ops->complete(engine, 0, command);
    if (command->op == OP_FAIL)
        printf("\n  %s\n", program->error.text);
    CU_ASSERT_EQUAL(command->op, OP_END);
    struct value_share share = *value_engine_share(engine, 0);
    CU_ASSERT(value_share_read(&share, OUT, elements * sizeof *out, (char *)out, &err));
    CU_ASSERT(value_engine_check(engine, &err));
    program->ops->destroy(program);
    value_engine_free(engine);
    value_source_free(source);
}

/* The inputs, as the kernels see them. */
static float input(enum value_tensor tensor, uint32_t row, uint32_t col)
{
    struct value_source *source = generator_new(11, DIM);
    struct error err = {ERROR_NONE, ""};
    uint16_t elements[DIM];
    value_source_rows(source, tensor, (struct value_row){0, 0, row}, 1, 1, elements, &err);
    value_source_free(source);
    return f32_of_bf16(elements[col]);
}

static struct tl_tensor load(struct tl *tl, uint64_t addr)
{
    return tl_load(tl, tl_ref(tl, 0, addr, ROWS, DIM, TL_BF16));
}

static struct tl_tensor load_f32(struct tl *tl, uint64_t addr)
{
    return tl_cast(tl, load(tl, addr), TL_F32);
}

static void keep_at(struct tl *tl, uint32_t place, struct tl_tensor tensor)
{
    tl_store(tl, tl_ref(tl, 0, OUT + place * UINT64_C(4), tensor.rows, tensor.cols, TL_F32),
             tensor);
}

/* ---- trans and transpose ---- */

static void kernel_transpose(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    struct tl_tensor a = load_f32(tl, 0);
    keep_at(tl, 0, tl_trans(tl, a));
    keep_at(tl, ROWS * DIM, tl_transpose(tl, a));
}

/* tl_trans is a name for other shape of the same bytes, tl_transpose moves them: on asymmetric data
 * the first is a reshape and not the transpose. */
static void test_trans_is_not_transpose(void)
{
    float out[2 * ROWS * DIM];
    uint32_t reshape = 0, transpose = 0, differ = 0;
    run(kernel_transpose, out, 2 * ROWS * DIM);
    for (uint32_t row = 0; row < DIM; row++)
        for (uint32_t col = 0; col < ROWS; col++) {
            uint32_t at = row * ROWS + col;
            reshape += out[at] == input(VALUE_Q, at / DIM, at % DIM);
            transpose += out[ROWS * DIM + at] == input(VALUE_Q, col, row);
            differ += out[at] != out[ROWS * DIM + at];
        }
    CU_ASSERT_EQUAL(reshape, ROWS * DIM);
    CU_ASSERT_EQUAL(transpose, ROWS * DIM);
    CU_ASSERT(differ > ROWS * DIM / 2);
}

/* ---- MATH ---- */

static void kernel_elementwise(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    struct tl_tensor a = load_f32(tl, 0), b = load_f32(tl, BYTES);
    uint32_t n = ROWS * DIM;
    keep_at(tl, 0 * n, tl_maximum(tl, a, b));
    keep_at(tl, 1 * n, tl_add(tl, a, b));
    keep_at(tl, 2 * n, tl_sub(tl, a, b));
    keep_at(tl, 3 * n, tl_mul(tl, a, b));
    keep_at(tl, 4 * n, tl_div(tl, a, b));
    keep_at(tl, 5 * n, tl_exp(tl, a));
    keep_at(tl, 6 * n, tl_scale(tl, a, 0.3f));
    keep_at(tl, 7 * n, tl_full(tl, ROWS, DIM, TL_F32, 4.5f));
    tl_sub_to(tl, a, a, b); /* in place */
    keep_at(tl, 8 * n, a);
    tl_exp_to(tl, b, b);
    keep_at(tl, 9 * n, b);
}

static void test_elementwise(void)
{
    enum { N = ROWS * DIM };
    float out[10 * N];
    uint32_t wrong = 0;
    run(kernel_elementwise, out, 10 * N);
    for (uint32_t at = 0; at < N; at++) {
        float a = input(VALUE_Q, at / DIM, at % DIM), b = input(VALUE_V, at / DIM, at % DIM);
        const float right[10] = {fmaxf(a, b), a + b,    a - b, a * b, a / b,
                                 expf(a),     a * 0.3f, 4.5f,  a - b, expf(b)};
        for (uint32_t i = 0; i < 10; i++)
            wrong += out[i * N + at] != right[i];
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void kernel_stretch(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    struct tl_tensor a = load_f32(tl, 0);
    struct tl_tensor column = tl_max(tl, a);                       /* [ROWS, 1] */
    struct tl_tensor row = tl_rows(tl, load_f32(tl, BYTES), 2, 1); /* [1, DIM] */
    uint32_t n = ROWS * DIM;
    keep_at(tl, 0, tl_sub(tl, a, column));
    keep_at(tl, n, tl_mul(tl, row, a));
    keep_at(tl, 2 * n, tl_add(tl, column, row));
    keep_at(tl, 3 * n, tl_broadcast(tl, row, ROWS, DIM));
    keep_at(tl, 4 * n, tl_softmax(tl, a));
    keep_at(tl, 5 * n, tl_sum(tl, a));
}

static void test_stretch_and_reductions(void)
{
    enum { N = ROWS * DIM };
    float out[5 * N + ROWS];
    uint32_t wrong = 0;
    run(kernel_stretch, out, 5 * N + ROWS);
    for (uint32_t r = 0; r < ROWS; r++) {
        float top = -FLT_MAX;
        double sum = 0, exps = 0;
        for (uint32_t c = 0; c < DIM; c++)
            top = fmaxf(top, input(VALUE_Q, r, c));
        for (uint32_t c = 0; c < DIM; c++) {
            sum += (double)input(VALUE_Q, r, c);
            exps += exp((double)(input(VALUE_Q, r, c) - top));
        }
        for (uint32_t c = 0; c < DIM; c++) {
            float a = input(VALUE_Q, r, c), b = input(VALUE_V, 2, c);
            const float *o = out + r * DIM + c;
            wrong += o[0] != a - top || o[N] != a * b || o[2 * N] != top + b || o[3 * N] != b;
            wrong += fabs((double)o[4 * N] - exp((double)(a - top)) / exps) > 1e-6;
        }
        wrong += fabs((double)out[5 * N + r] - sum) > 1e-6;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void kernel_mask(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    keep_at(tl, 0, tl_causal_mask(tl, 6, 7, 10, 3, 5, 2));
}

/* Queries 10, 11, 12 of two heads; keys 5, 7, 9, ... */
static void test_causal_mask(void)
{
    float out[6 * 7];
    run(kernel_mask, out, 6 * 7);
    for (uint32_t row = 0; row < 6; row++)
        for (uint32_t col = 0; col < 7; col++)
            CU_ASSERT_EQUAL(out[row * 7 + col], 5 + 2 * col <= 10 + row % 3 ? 0.0f : -FLT_MAX);
}

static void kernel_types(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    struct tl_tensor a = tl_scale(tl, load_f32(tl, 0), 1.001f);
    keep_at(tl, 0, tl_cast(tl, tl_cast(tl, a, TL_BF16), TL_F32));
    keep_at(tl, ROWS * DIM, tl_cast(tl, tl_cast(tl, a, TL_F16), TL_F32));
    keep_at(tl, 2 * ROWS * DIM, tl_cast(tl, tl_transpose(tl, tl_cast(tl, a, TL_F16)), TL_F32));
}

static void test_types(void)
{
    enum { N = ROWS * DIM };
    float out[3 * N];
    uint32_t wrong = 0;
    run(kernel_types, out, 3 * N);
    for (uint32_t at = 0; at < N; at++) {
        float a = input(VALUE_Q, at / DIM, at % DIM) * 1.001f;
        float half = f32_of_f16(f16_of_f32(a));
        wrong += out[at] != f32_of_bf16(bf16_of_f32(a)) || out[N + at] != half;
        wrong += out[2 * N + at % DIM * ROWS + at / DIM] != half;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* ---- GEMM ---- */

/* Q . V^T, the exact product of the inputs. */
static double product(uint32_t row, uint32_t col)
{
    double sum = 0;
    for (uint32_t k = 0; k < DIM; k++)
        sum += (double)input(VALUE_Q, row, k) * (double)input(VALUE_V, col, k);
    return sum;
}

static void kernel_gemm(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    struct tl_tensor q = load(tl, 0), vt = tl_transpose(tl, load(tl, BYTES));
    struct tl_tensor bias = tl_rows(tl, load_f32(tl, BYTES), 0, 1);
    struct tl_tensor narrow = tl_view(tl, tl_rows(tl, tl_view(tl, bias, DIM, 1), 0, ROWS), 1, ROWS);
    struct tl_tensor factor = tl_full(tl, ROWS, 1, TL_F32, 0.25f);
    struct tl_tensor out = tl_full(tl, ROWS, ROWS, TL_F32, 8.0f);
    uint32_t n = ROWS * ROWS;
    keep_at(tl, 0, tl_dot(tl, q, vt));
    keep_at(tl, n, tl_composite(tl, q, vt, (struct tl_epilogue){.scale = 0.5f, .add = &narrow}));
    tl_composite_to(tl, out, q, vt, (struct tl_epilogue){.scale = 2.0f, .rescale = &factor});
    keep_at(tl, 2 * n, out);
    struct tl_tensor hbm = tl_ref(tl, 0, BYTES, DIM, ROWS, TL_BF16); /* the same bytes, streamed */
    keep_at(tl, 3 * n, tl_composite(tl, q, hbm, (struct tl_epilogue){0}));
    keep_at(tl, 4 * n, tl_dot(tl, tl_cast(tl, q, TL_F16), tl_cast(tl, vt, TL_F16)));
}

static void test_gemm_and_epilogues(void)
{
    enum { N = ROWS * ROWS };
    float out[5 * N];
    uint32_t wrong = 0;
    run(kernel_gemm, out, 5 * N);
    for (uint32_t at = 0; at < N; at++) {
        uint32_t row = at / ROWS, col = at % ROWS;
        double s = product(row, col), streamed = 0;
        for (uint32_t k = 0; k < DIM; k++) {
            uint32_t element = k * ROWS + col;
            streamed += (double)input(VALUE_Q, row, k) *
                        (double)input(VALUE_V, element / DIM, element % DIM);
        }
        const double right[5] = {s, 0.5 * s + (double)input(VALUE_V, 0, col), 8 * 0.25 + 2 * s,
                                 streamed, s};
        for (uint32_t i = 0; i < 5; i++)
            wrong += fabs((double)out[i * N + at] - right[i]) > 1e-5 * (1 + fabs(right[i]));
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void kernel_merge(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    struct tl_tensor q = load(tl, 0), vt = tl_transpose(tl, load(tl, BYTES));
    struct tl_tensor p = tl_empty(tl, ROWS, ROWS, TL_BF16), corr = tl_empty(tl, ROWS, 1, TL_F32);
    struct tl_tensor m = tl_full(tl, ROWS, 1, TL_F32, 0.5f), l = tl_full(tl, ROWS, 1, TL_F32, 3.0f);
    tl_softmax_merge(tl, p, m, l, corr, q, vt, 0.5f);
    keep_at(tl, 0, tl_cast(tl, p, TL_F32));
    keep_at(tl, ROWS * ROWS, m);
    keep_at(tl, ROWS * ROWS + ROWS, l);
    keep_at(tl, ROWS * ROWS + 2 * ROWS, corr);
}

static void test_softmax_merge(void)
{
    float out[ROWS * ROWS + 3 * ROWS];
    uint32_t wrong = 0;
    run(kernel_merge, out, ROWS * ROWS + 3 * ROWS);
    for (uint32_t row = 0; row < ROWS; row++) {
        double m = 0.5, l = 0;
        for (uint32_t col = 0; col < ROWS; col++)
            m = fmax(m, 0.5 * product(row, col));
        for (uint32_t col = 0; col < ROWS; col++) {
            double p = exp(0.5 * product(row, col) - m);
            l += p;
            wrong += fabs((double)out[row * ROWS + col] - p) > 0x1p-8 * p;
        }
        const float *state = out + ROWS * ROWS + row;
        wrong += fabs((double)state[0] - m) > 1e-5;
        wrong += fabs((double)state[ROWS] - (3 * exp(0.5 - m) + l)) > 1e-5;
        wrong += fabs((double)state[2 * ROWS] - exp(0.5 - m)) > 1e-5;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* ---- what was never written ---- */

static void kernel_unwritten(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    struct tl_tensor nothing = tl_empty(tl, 1, 4, TL_F32), one = tl_full(tl, 1, 4, TL_F32, 1);
    keep_at(tl, 0, tl_maximum(tl, one, nothing));
    keep_at(tl, 4, tl_maximum(tl, nothing, one));
    keep_at(tl, 8, tl_max(tl, nothing));
    struct tl_tensor beyond = tl_load(tl, tl_ref(tl, 1, 8192, 1, 4, TL_F32));
    keep_at(tl, 9, tl_mul(tl, beyond, one));
}

static void test_unwritten_memory_is_no_number(void)
{
    float out[13];
    run(kernel_unwritten, out, 13);
    for (int i = 0; i < 13; i++)
        CU_ASSERT(isnan(out[i]));
}

CHECK_MAIN("values/engine", CHECK_TEST(test_trans_is_not_transpose), CHECK_TEST(test_elementwise),
           CHECK_TEST(test_stretch_and_reductions), CHECK_TEST(test_causal_mask),
           CHECK_TEST(test_types), CHECK_TEST(test_gemm_and_epilogues),
           CHECK_TEST(test_softmax_merge), CHECK_TEST(test_unwritten_memory_is_no_number))
