/* Every static check: a kernel that breaks it, and the words of the error. */
#include <stdio.h>

#include "../check.h"
#include "fixture.h"

#define F32(rows, cols) tl_empty(tl, rows, cols, TL_F32)
#define BF16(rows, cols) tl_empty(tl, rows, cols, TL_BF16)
#define HBM(rows, cols) tl_ref(tl, 0, 0, rows, cols, TL_F32)
#define NO_EPILOGUE ((struct tl_epilogue){0})

/* The kernels below break one rule per run: the one whose turn it is. */
static int turn;
static const char *expected; /* words of the error; NULL when no turn was left */
static uint32_t expected_line;
#define BREAKS(words) if (at++ == turn && (expected_line = __LINE__, expected = words) != NULL)

static void memory(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    int at = 0;
    BREAKS("): scratch is full: 8 bytes wanted, 1048576 in all, 1048576 in use")
    {
        F32(512, 512);
        F32(2, 1);
    }
    BREAKS("tl_empty: the result has no elements: [0, 4]")
    {
        F32(0, 4);
    }
    BREAKS("tl_empty: the result has no known element type (9)")
    {
        tl_empty(tl, 1, 1, (enum tl_dtype)9);
    }
    BREAKS("tl_empty: the result has too many elements")
    {
        F32(UINT32_MAX, UINT32_MAX);
    }
    BREAKS("tl_exp: a is not a tensor that tl made")
    {
        tl_exp(tl, (struct tl_tensor){0});
    }
    BREAKS("tl_exp: a, [4, 4] f32 at 4096, ends beyond the 64 bytes of scratch in use")
    {
        tl_exp(tl,
               (struct tl_tensor){.addr = 4096, .rows = 4, .cols = 4, .space = F32(4, 4).space});
    }
    BREAKS("tl_ref: PE 8 is out of range: a CUBE has 8")
    {
        tl_ref(tl, 8, 0, 1, 1, TL_F32);
    }
    BREAKS(
        "tl_ref: the tensor, [2, 1] f32 at 16777212, ends beyond the HBM share of 16777216 bytes")
    {
        tl_ref(tl, 0, FIXTURE_SHARE - 4, 2, 1, TL_F32);
    }
    BREAKS("ends beyond the HBM share")
    {
        tl_ref(tl, 0, UINT64_MAX, 2, 1, TL_F32);
    }
    BREAKS("tl_load: the source must be in HBM, but is in scratch")
    {
        tl_load(tl, F32(1, 1));
    }
    BREAKS("tl_load_to: out must be [4, 2], but is [2, 4] f32")
    {
        tl_load_to(tl, F32(2, 4), tl_ref(tl, 0, 0, 4, 2, TL_F32));
    }
    BREAKS("tl_load_to: out is [4, 2] f32, but the source is [4, 2] bf16")
    {
        tl_load_to(tl, F32(4, 2), tl_ref(tl, 0, 0, 4, 2, TL_BF16));
    }
    BREAKS("tl_store: the destination must be in HBM, but is in scratch")
    {
        tl_store(tl, F32(1, 1), F32(1, 1));
    }
    BREAKS("tl_store: the source must be in scratch, but is in HBM")
    {
        tl_store(tl, HBM(1, 1), HBM(1, 1));
    }
    BREAKS("tl_view: [4, 6] has 24 elements, but [5, 5] has 25")
    {
        tl_view(tl, F32(4, 6), 5, 5);
    }
    BREAKS("tl_rows: rows 3 to 5 of a tensor that has 4")
    {
        tl_rows(tl, F32(4, 6), 3, 2);
    }
    BREAKS("tl_rows: rows 3 to 3 of a tensor")
    {
        tl_rows(tl, F32(4, 6), 3, 0);
    }
}

static void gemm(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    int at = 0;
    BREAKS("tl_composite: a is [2, 3] and b [4, 5]: 3 columns meet 4 rows")
    {
        tl_composite(tl, F32(2, 3), F32(4, 5), NO_EPILOGUE);
    }
    BREAKS("tl_dot: a is [2, 3] f32, but b is [3, 5] bf16")
    {
        tl_dot(tl, F32(2, 3), BF16(3, 5));
    }
    BREAKS("tl_composite: a must be in scratch, but is in HBM")
    {
        tl_composite(tl, tl_ref(tl, 0, 0, 2, 3, TL_F32), F32(3, 5), NO_EPILOGUE);
    }
    BREAKS("tl_dot: b must be in scratch, but is in HBM")
    {
        tl_dot(tl, F32(2, 3), tl_ref(tl, 0, 0, 3, 5, TL_F32));
    }
    BREAKS("tl_composite_to: out must be f32, but is [2, 5] bf16")
    {
        tl_composite_to(tl, BF16(2, 5), F32(2, 3), F32(3, 5), NO_EPILOGUE);
    }
    BREAKS("tl_dot_to: out must be [2, 5], but is [5, 2] f32")
    {
        tl_dot_to(tl, F32(5, 2), F32(2, 3), F32(3, 5));
    }
    BREAKS("tl_composite: add, [3, 5] f32, does not stretch to [2, 5]")
    {
        struct tl_tensor c = F32(3, 5);
        tl_composite(tl, F32(2, 3), F32(3, 5), (struct tl_epilogue){.add = &c});
    }
    BREAKS("tl_composite: rescale needs an output that has values")
    {
        struct tl_tensor c = F32(2, 1);
        tl_composite(tl, F32(2, 3), F32(3, 5), (struct tl_epilogue){.rescale = &c});
    }
    BREAKS("tl_composite_to: rescale must be [2, 1], but is [1, 2] f32")
    {
        struct tl_tensor c = F32(1, 2);
        tl_composite_to(tl, F32(2, 5), F32(2, 3), F32(3, 5), (struct tl_epilogue){.rescale = &c});
    }
    BREAKS("tl_dot_to: out, [2, 2] f32 at 0, overlaps a, [2, 2] f32 at 0")
    {
        struct tl_tensor a = F32(2, 2);
        tl_dot_to(tl, a, a, F32(2, 2));
    }
    BREAKS("tl_softmax_merge: p must be [2, 5], but is [2, 4] bf16")
    {
        tl_softmax_merge(tl, BF16(2, 4), F32(2, 1), F32(2, 1), F32(2, 1), BF16(2, 3), BF16(3, 5),
                         1);
    }
    BREAKS("tl_softmax_merge: l must be f32, but is [2, 1] bf16")
    {
        tl_softmax_merge(tl, BF16(2, 5), F32(2, 1), BF16(2, 1), F32(2, 1), BF16(2, 3), BF16(3, 5),
                         1);
    }
    BREAKS("tl_softmax_merge: m, [2, 1] f32 at 0, overlaps l, [2, 1] f32 at 0")
    {
        struct tl_tensor m = F32(2, 1);
        tl_softmax_merge(tl, BF16(2, 5), m, m, F32(2, 1), BF16(2, 3), BF16(3, 5), 1);
    }
}

static void math(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    int at = 0;
    BREAKS("tl_exp: a must be f32, but is [2, 2] bf16")
    {
        tl_exp(tl, BF16(2, 2));
    }
    BREAKS("tl_sum: a must be in scratch, but is in HBM")
    {
        tl_sum(tl, tl_ref(tl, 0, 0, 2, 2, TL_F32));
    }
    BREAKS("tl_add: [2, 3] and [3, 1] do not stretch to one shape")
    {
        tl_add(tl, F32(2, 3), F32(3, 1));
    }
    BREAKS("tl_mul_to: out must be [2, 3], but is [2, 1] f32")
    {
        tl_mul_to(tl, F32(2, 1), F32(2, 3), F32(2, 1));
    }
    BREAKS("tl_max_to: out must be [2, 1], but is [1, 3] f32")
    {
        tl_max_to(tl, F32(1, 3), F32(2, 3));
    }
    BREAKS("tl_exp_to: out, [2, 2] f32 at 16, overlaps an input, [2, 2] f32 at 8")
    {
        struct tl_tensor a = F32(8, 2);
        tl_exp_to(tl, tl_rows(tl, a, 2, 2), tl_rows(tl, a, 1, 2));
    }
    BREAKS("tl_cast: the result has no known element type (3)")
    {
        tl_cast(tl, F32(1, 1), (enum tl_dtype)3);
    }
    BREAKS("tl_cast_to: out, [2, 2] f32 at 0, overlaps an input, [2, 2] bf16 at 0")
    {
        struct tl_tensor a = F32(2, 2);
        struct tl_tensor b = a;
        b.dtype = TL_BF16;
        tl_cast_to(tl, a, b);
    }
    BREAKS("tl_broadcast: a, [2, 3] f32, does not stretch to [4, 3]")
    {
        tl_broadcast(tl, F32(2, 3), 4, 3);
    }
    BREAKS("tl_causal_mask: q_len is 0")
    {
        tl_causal_mask(tl, 2, 2, 0, 0, 0, 1);
    }
    BREAKS("tl_causal_mask: a position overflows")
    {
        tl_causal_mask(tl, 2, 2, 0, 1, UINT64_MAX - 1, 1);
    }
}

static void ipcq(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    int at = 0;
    BREAKS("tl_send: queue pe.S leads nowhere: there is no neighbouring PE")
    {
        tl_send(tl, TL_PE_S, F32(1, 1));
    }
    BREAKS("tl_recv: queue cube.N leads nowhere: there is no neighbouring CUBE")
    {
        tl_recv(tl, TL_CUBE_N, 1, 1, TL_F32);
    }
    BREAKS("tl_recv_async: queue sip.E leads nowhere: there is no neighbouring SIP")
    {
        tl_recv_async(tl, TL_SIP_E, 1, 1, TL_F32);
    }
    BREAKS("tl_send: there is no queue 12")
    {
        tl_send(tl, (enum tl_queue)12, F32(1, 1));
    }
    BREAKS("tl_recv: the result has no elements: [0, 1]")
    {
        tl_recv(tl, TL_PE_N, 0, 1, TL_F32);
    }
    BREAKS("tl_send: a must be in scratch, but is in HBM")
    {
        tl_send(tl, TL_PE_N, HBM(1, 1));
    }
    BREAKS("tl_queue_to: PE 2 and 7 are not neighbours")
    {
        (void)tl_queue_to(tl, TL_AXIS_PE, 7);
    }
    BREAKS("tl_queue_to: CUBE 3 and 3 are not neighbours")
    {
        (void)tl_queue_to(tl, TL_AXIS_CUBE, 3);
    }
    BREAKS("tl_queue_to: index 8 is out of range: the grid is 4 x 2")
    {
        (void)tl_queue_to(tl, TL_AXIS_PE, 8);
    }
    BREAKS("tl_position: axis 2 has no grid")
    {
        tl_position(tl, TL_AXIS_GROUP, 0);
    }
    BREAKS("tl_index_at: (4, 0) lies outside the grid of 4 x 2")
    {
        tl_index_at(tl, TL_AXIS_PE, (struct tl_position){4, 0});
    }
    BREAKS("tl_program_id: there is no axis 7")
    {
        tl_program_id(tl, (enum tl_axis)7);
    }
    BREAKS("tl_wait: the tensor must be in scratch, but is in HBM")
    {
        tl_wait(tl, HBM(1, 1));
    }
}

static void scopes(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    int at = 0;
    BREAKS("tl_scratch_end: scratch scope 1 ends, but the innermost open one is 0")
    {
        uint32_t scope = tl_scratch_begin(tl);
        tl_scratch_end(tl, scope);
        tl_scratch_end(tl, scope);
    }
    BREAKS("): the kernel ended with 1 scratch scopes open")
    {
        tl_scratch_begin(tl);
    }
    BREAKS("): 7 is not enough")
    {
        tl_fail(tl, "%d is not enough", 7);
    }
}

/* A tensor of a scope that ended is recognised even though another lies in its place. */
static void recycled(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    int at = 0;
    struct tl_tensor old;
    F32(4, 4);
    TL_SCRATCH_SCOPE(tl)
    {
        old = F32(2, 2);
    }
    BREAKS("tl_view: the tensor, [2, 2] f32 at 64, was recycled at the end of its scratch scope 1")
    {
        tl_view(tl, old, 4, 1);
    }
    TL_SCRATCH_SCOPE(tl)
    {
        F32(2, 2);
        BREAKS("tl_exp: a, [2, 2] f32 at 64, was recycled at the end of its scratch scope 1")
        {
            tl_exp(tl, old);
        }
    }
}

/* Scopes without end. */
static void deep(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    int at = 0;
    BREAKS("tl_scratch_begin: too many scratch scopes: 32 are open, at most 32 may be")
    {
        for (;;)
            tl_scratch_begin(tl);
    }
}

static void check_text(const struct program *program)
{
    char place[64];
    snprintf(place, sizeof place, "kernel fixture, CUBE 2 PE 2, command ");
    CU_ASSERT_EQUAL(strncmp(program->error.text, place, strlen(place)), 0);
    CU_ASSERT_EQUAL(program->error.code, ERROR_FAILED);
    const char *line = strstr(program->error.text, "test_errors.c:");
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    long distance = strtol(line + strlen("test_errors.c:"), NULL, 10) - (long)expected_line;
    CU_ASSERT_TRUE(distance >= 0 && distance < 8);
    if (strstr(program->error.text, expected) == NULL) {
        printf("\n  wanted: %s\n  got:    %s\n", expected, program->error.text);
        CU_FAIL("text of the error");
    }
}

/* Runs the turn; false when the kernel had none left. */
static bool check_turn(tl_kernel *kernel)
{
    expected = NULL;
    struct tl_program_config config = fixture_config(kernel, 4);
    struct program *program = tl_program_new(&config);
    struct stream stream = stream_of(program);
    if (expected == NULL)
        CU_ASSERT_EQUAL(program->error.code, ERROR_NONE);
    if (expected != NULL && program->error.code == ERROR_NONE)
        printf("\n  no error: %s\n", expected);
    if (expected != NULL) {
        CU_ASSERT_EQUAL_FATAL(program->error.code, ERROR_FAILED);
        CU_ASSERT_EQUAL(stream.commands[stream.count - 1].op, OP_FAIL);
        check_text(program);
    }
    stream_free(&stream);
    program->ops->destroy(program);
    return expected != NULL;
}

static void check_turns(tl_kernel *kernel, int least)
{
    for (turn = 0; check_turn(kernel);)
        turn++;
    CU_ASSERT_TRUE(turn >= least);
}

static void test_memory(void)
{
    check_turns(memory, 17);
}

static void test_gemm(void)
{
    check_turns(gemm, 13);
}

static void test_math(void)
{
    check_turns(math, 11);
}

static void test_ipcq(void)
{
    check_turns(ipcq, 13);
}

static void test_scopes(void)
{
    check_turns(scopes, 3);
}

static void test_deep(void)
{
    check_turns(deep, 1);
}

static void test_recycled(void)
{
    check_turns(recycled, 2);
}

/* The exact text, once. */
static void exact(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    tl_full(tl, 1000, 256, TL_F32, 0);
#line 88 "kernels/exact.c"
    tl_empty(tl, 160, 64, TL_F32);
}

#line 1000 "test_errors.c"
static void test_exact(void)
{
    struct tl_program_config config = fixture_config(exact, 4);
    struct program *program = tl_program_new(&config);
    struct stream stream = stream_of(program);
    CU_ASSERT_STRING_EQUAL(program->error.text,
                           "kernel fixture, CUBE 2 PE 2, command 2 (kernels/exact.c:88): scratch "
                           "is full: 40960 bytes wanted, 1048576 in all, 1024000 in use");
    stream_free(&stream);
    program->ops->destroy(program);
}

CHECK_MAIN("tl/errors", CHECK_TEST(test_memory), CHECK_TEST(test_gemm), CHECK_TEST(test_math),
           CHECK_TEST(test_ipcq), CHECK_TEST(test_scopes), CHECK_TEST(test_deep),
           CHECK_TEST(test_recycled), CHECK_TEST(test_exact))
