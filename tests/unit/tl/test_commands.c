/* What each function of tl.h records. */
#include <float.h>

#include "../check.h"
#include "fixture.h"

static struct stream record(tl_kernel *kernel)
{
    struct stream stream = stream_of_kernel(kernel, 5);
    CU_ASSERT_TRUE_FATAL(stream.count > 0);
    CU_ASSERT_NOT_EQUAL_FATAL(stream.commands[stream.count - 1].op, OP_FAIL);
    return stream;
}

static void check_operand(const struct operand *operand, enum space space, uint64_t addr,
                          uint32_t rows, uint32_t cols, enum dtype dtype)
{
    CU_ASSERT_EQUAL(operand->space, space);
    CU_ASSERT_EQUAL(operand->addr, addr);
    CU_ASSERT_EQUAL(operand->rows, rows);
    CU_ASSERT_EQUAL(operand->cols, cols);
    CU_ASSERT_EQUAL(operand->dtype, dtype);
}

static void memory(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    struct tl_tensor a = tl_load(tl, tl_ref(tl, 6, 1024, 4, 8, TL_BF16)); /* at 0 */
    struct tl_tensor b = tl_empty(tl, 8, 4, TL_BF16);                     /* at 64 */
    tl_load_to(tl, b, tl_ref(tl, 2, 0, 8, 4, TL_BF16));
    tl_store(tl, tl_ref(tl, 2, 512, 2, 8, TL_BF16), tl_rows(tl, a, 1, 2));
    tl_wait(tl, tl_trans(tl, tl_view(tl, b, 2, 16)));
}

static void test_memory(void)
{
    struct stream stream = record(memory);
    CU_ASSERT_EQUAL_FATAL(stream.count, 4);
    const struct command *c = stream.commands;
    CU_ASSERT_EQUAL(c[0].op, OP_LOAD);
    check_operand(&c[0].a, SPACE_HBM, 1024, 4, 8, DTYPE_BF16);
    CU_ASSERT_EQUAL(c[0].a.pe, 6);
    check_operand(&c[0].out, SPACE_SCRATCH, 0, 4, 8, DTYPE_BF16);
    CU_ASSERT_EQUAL(c[1].op, OP_LOAD);
    check_operand(&c[1].out, SPACE_SCRATCH, 64, 8, 4, DTYPE_BF16);
    CU_ASSERT_EQUAL(c[2].op, OP_STORE);
    check_operand(&c[2].a, SPACE_SCRATCH, 16, 2, 8, DTYPE_BF16);
    check_operand(&c[2].out, SPACE_HBM, 512, 2, 8, DTYPE_BF16);
    CU_ASSERT_EQUAL(c[3].op, OP_WAIT);
    check_operand(&c[3].out, SPACE_SCRATCH, 64, 16, 2, DTYPE_BF16);
    stream_free(&stream);
}

static void gemm(struct tl *tl, const struct tl_launch *launch)
{
    struct tl_tensor a = tl_empty(tl, 8, 32, TL_BF16);  /* 0 */
    struct tl_tensor add = tl_empty(tl, 1, 16, TL_F32); /* 512 */
    struct tl_tensor corr = tl_empty(tl, 8, 1, TL_F32); /* 576 */
    struct tl_tensor m = tl_empty(tl, 8, 1, TL_F32);    /* 640 */
    struct tl_tensor l = tl_empty(tl, 8, 1, TL_F32);    /* 704 */
    struct tl_tensor p = tl_empty(tl, 8, 16, TL_BF16);  /* 768 */
    struct tl_tensor b = tl_ref(tl, launch->pe, 0, 32, 16, TL_BF16);
    struct tl_tensor out = /* 1024 */
        tl_composite(tl, a, b, (struct tl_epilogue){.scale = 0.25f, .add = &add});
    tl_composite_to(tl, out, a, b, (struct tl_epilogue){.rescale = &corr});
    tl_softmax_merge(tl, p, m, l, corr, a, b, 0.5f);
    tl_dot_to(tl, out, a, tl_load(tl, b));
}

static void test_gemm(void)
{
    struct stream stream = record(gemm);
    CU_ASSERT_EQUAL_FATAL(stream.count, 5);
    const struct command *c = stream.commands;
    CU_ASSERT_EQUAL(c[0].op, OP_COMPOSITE);
    CU_ASSERT_EQUAL(c[0].epilogue, EPILOGUE_SCALE | EPILOGUE_ADD);
    CU_ASSERT_EQUAL(c[0].scalar, 0.25f);
    check_operand(&c[0].a, SPACE_SCRATCH, 0, 8, 32, DTYPE_BF16);
    check_operand(&c[0].b, SPACE_HBM, 0, 32, 16, DTYPE_BF16);
    check_operand(&c[0].c, SPACE_SCRATCH, 512, 1, 16, DTYPE_F32);
    check_operand(&c[0].out, SPACE_SCRATCH, 1024, 8, 16, DTYPE_F32);
    CU_ASSERT_EQUAL(c[0].state[0].space, SPACE_NONE);
    CU_ASSERT_EQUAL(c[1].epilogue, EPILOGUE_RESCALE);
    check_operand(&c[1].state[0], SPACE_SCRATCH, 576, 8, 1, DTYPE_F32);
    CU_ASSERT_EQUAL(c[2].op, OP_COMPOSITE);
    CU_ASSERT_EQUAL(c[2].epilogue, EPILOGUE_SCALE | EPILOGUE_SOFTMAX_MERGE);
    CU_ASSERT_EQUAL(c[2].scalar, 0.5f);
    check_operand(&c[2].out, SPACE_SCRATCH, 768, 8, 16, DTYPE_BF16);
    check_operand(&c[2].state[0], SPACE_SCRATCH, 640, 8, 1, DTYPE_F32);
    check_operand(&c[2].state[1], SPACE_SCRATCH, 704, 8, 1, DTYPE_F32);
    check_operand(&c[2].state[2], SPACE_SCRATCH, 576, 8, 1, DTYPE_F32);
    CU_ASSERT_EQUAL(c[3].op, OP_LOAD);
    CU_ASSERT_EQUAL(c[4].op, OP_DOT);
    CU_ASSERT_EQUAL(c[4].epilogue, EPILOGUE_NONE);
    stream_free(&stream);
}

static void math(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    struct tl_tensor a = tl_full(tl, 4, 6, TL_F32, -FLT_MAX);
    struct tl_tensor m = tl_max(tl, a);
    tl_sub(tl, m, a);
    tl_add(tl, m, tl_transpose(tl, m));
    tl_broadcast(tl, m, 4, 6);
    tl_scale_to(tl, a, a, 3);
    tl_cast(tl, a, TL_F16);
    tl_causal_mask(tl, 4, 6, 100, 2, 50, 8);
}

static void test_math(void)
{
    static const struct {
        enum math_fn fn;
        uint32_t rows, cols;
    } wanted[] = {
        {MATH_FULL, 4, 6},      {MATH_MAX, 4, 1},  {MATH_SUB, 4, 6},
        {MATH_TRANSPOSE, 1, 4}, {MATH_ADD, 4, 4},  {MATH_BROADCAST, 4, 6},
        {MATH_SCALE, 4, 6},     {MATH_CAST, 4, 6}, {MATH_CAUSAL_MASK, 4, 6},
    };
    struct stream stream = record(math);
    CU_ASSERT_EQUAL_FATAL(stream.count, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < stream.count; i++) {
        CU_ASSERT_EQUAL(stream.commands[i].op, OP_MATH);
        CU_ASSERT_EQUAL(stream.commands[i].fn, wanted[i].fn);
        CU_ASSERT_EQUAL(stream.commands[i].out.rows, wanted[i].rows);
        CU_ASSERT_EQUAL(stream.commands[i].out.cols, wanted[i].cols);
    }
    CU_ASSERT_EQUAL(stream.commands[0].scalar, -FLT_MAX);
    CU_ASSERT_EQUAL(stream.commands[6].scalar, 3);
    CU_ASSERT_EQUAL(stream.commands[6].a.addr, stream.commands[6].out.addr);
    CU_ASSERT_EQUAL(stream.commands[7].out.dtype, DTYPE_F16);
    const struct command *mask = &stream.commands[8];
    CU_ASSERT_TRUE(mask->index[0] == 100 && mask->index[1] == 50 && mask->index[2] == 8);
    CU_ASSERT_EQUAL(mask->spare, 2);
    stream_free(&stream);
}

static void ipcq(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    struct tl_tensor a = tl_recv(tl, TL_PE_N, 2, 2, TL_F32);
    tl_recv_async_to(tl, TL_CUBE_S, a);
    tl_send(tl, TL_CUBE_E, a);
}

static void test_ipcq(void)
{
    struct stream stream = record(ipcq);
    CU_ASSERT_EQUAL_FATAL(stream.count, 3);
    const struct command *c = stream.commands;
    CU_ASSERT_TRUE(c[0].op == OP_RECV && c[0].queue == QUEUE_PE_N);
    CU_ASSERT_TRUE(c[1].op == OP_RECV_ASYNC && c[1].queue == QUEUE_CUBE_S);
    CU_ASSERT_TRUE(c[2].op == OP_SEND && c[2].queue == QUEUE_CUBE_E);
    check_operand(&c[2].a, SPACE_SCRATCH, 0, 2, 2, DTYPE_F32);
    CU_ASSERT_FALSE(command_emits(&c[0]));
    CU_ASSERT_TRUE(command_emits(&c[2]));
    stream_free(&stream);
}

/* Writes what it sees of the geometry into the scalars of commands. */
static void geometry(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    const uint32_t seen[] = {
        tl_program_id(tl, TL_AXIS_PE),
        tl_program_id(tl, TL_AXIS_CUBE),
        tl_program_id(tl, TL_AXIS_GROUP),
        tl_num_programs(tl, TL_AXIS_PE),
        tl_num_programs(tl, TL_AXIS_CUBE),
        tl_num_programs(tl, TL_AXIS_GROUP),
        tl_position(tl, TL_AXIS_PE, 7).x,
        tl_position(tl, TL_AXIS_PE, 7).y,
        tl_queue_to(tl, TL_AXIS_PE, 3),
        tl_queue_to(tl, TL_AXIS_PE, 6),
        tl_queue_to(tl, TL_AXIS_PE, 0),
        tl_queue_to(tl, TL_AXIS_CUBE, 2),
        tl_queue_to(tl, TL_AXIS_CUBE, 7),
        tl_queue_to(tl, TL_AXIS_CUBE, 1),
        tl_index_at(tl, TL_AXIS_CUBE, (struct tl_position){1, 0}),
    };
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        tl_full(tl, 1, 1, TL_F32, (float)seen[i]);
}

static void test_geometry(void)
{
    static const uint32_t wanted[] = {
        2, 3, 0, 8, 8, 2, 1, 0, TL_PE_N, TL_PE_W, TL_PE_E, TL_CUBE_S, TL_CUBE_W, TL_CUBE_E, 7};
    struct stream stream = record(geometry);
    CU_ASSERT_EQUAL_FATAL(stream.count, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < stream.count; i++)
        CU_ASSERT_EQUAL(stream.commands[i].scalar, (float)wanted[i]);
    stream_free(&stream);
}

CHECK_MAIN("tl/commands", CHECK_TEST(test_memory), CHECK_TEST(test_gemm), CHECK_TEST(test_math),
           CHECK_TEST(test_ipcq), CHECK_TEST(test_geometry))
