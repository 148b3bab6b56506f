/* Programs as streams: the bound does not matter, the scout sees what the recorder sees, nothing is
 * left behind. */
#include <stdio.h>

#include "../check.h"
#include "fixture.h"

/* A kernel with a bit of everything; 6 commands a turn. */
static void busy(struct tl *tl, const struct tl_launch *launch)
{
    struct tl_tensor q = tl_load(tl, tl_ref(tl, launch->pe, 0, 8, 64, TL_BF16));
    struct tl_tensor sum = tl_full(tl, 8, 1, TL_F32, 0);
    for (uint32_t i = 0; i < 500; i++)
        TL_SCRATCH_SCOPE(tl)
        {
            struct tl_tensor k = tl_ref(tl, launch->pe, 4096 + 64 * i, 64, 16 + i % 7, TL_BF16);
            struct tl_tensor s = tl_composite(tl, q, k, (struct tl_epilogue){.scale = 0.5f});
            TL_SCRATCH_SCOPE(tl)
            {
                tl_add_to(tl, sum, sum, tl_max(tl, s));
            }
            tl_send(tl, TL_CUBE_W, sum);
            tl_recv_to(tl, TL_PE_E, sum);
        }
    tl_store(tl, tl_ref(tl, launch->pe, 0, 8, 1, TL_F32), sum);
}

enum { BUSY_COMMANDS = 2 + 500 * 5 + 1 };

static void empty(struct tl *tl, const struct tl_launch *launch)
{
    (void)tl, (void)launch;
}

static void fails(struct tl *tl, const struct tl_launch *launch)
{
    tl_full(tl, 1, 1, TL_F32, 0);
    tl_full(tl, 2, 1, TL_F32, 0);
    tl_fail(tl, "enough of PE %u", launch->pe);
}

static void test_bound_does_not_matter(void)
{
    struct stream whole = stream_of_kernel(busy, UINT32_MAX);
    CU_ASSERT_EQUAL(whole.count, BUSY_COMMANDS);
    const uint32_t bounds[] = {1, 2, 7, 256, BUSY_COMMANDS - 1, BUSY_COMMANDS, BUSY_COMMANDS + 1};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        struct stream bounded = stream_of_kernel(busy, bounds[i]);
        CU_ASSERT_TRUE(stream_equal(&whole, &bounded));
        stream_free(&bounded);
    }
    stream_free(&whole);
}

struct collector {
    struct scout_sink sink;
    struct stream stream;
    uint32_t pause_every; /* commands; 0: never */
};

static bool collect(struct scout_sink *sink, const struct command *command)
{
    struct collector *collector = (struct collector *)sink;
    stream_add(&collector->stream, command);
    return collector->pause_every && collector->stream.count % collector->pause_every == 0;
}

static void check_scout(uint32_t pause_every)
{
    struct tl_program_config config = fixture_config(busy, 7);
    struct program *program = tl_program_new(&config);
    struct collector collector = {.sink = {collect}, .pause_every = pause_every};
    struct stream recorded = {0};
    bool more = true;
    for (const struct command *command; (command = program->ops->next(program))->op != OP_END;) {
        stream_add(&recorded, command);
        more = more && program->ops->scout(program, &collector.sink);
    }
    while (program->ops->scout(program, &collector.sink))
        ;
    CU_ASSERT_FALSE(program->ops->scout(program, &collector.sink));
    CU_ASSERT_TRUE(stream_equal(&recorded, &collector.stream));
    program->ops->destroy(program);
    stream_free(&recorded);
    stream_free(&collector.stream);
}

static void test_scout_sees_the_same(void)
{
    const uint32_t pauses[] = {0, 1, 2, 13, 100000};
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++)
        check_scout(pauses[i]);
}

static void test_scout_pauses(void)
{
    struct tl_program_config config = fixture_config(busy, 7);
    struct program *program = tl_program_new(&config);
    struct collector collector = {.sink = {collect}, .pause_every = 3};
    for (size_t i = 1; i <= 10; i++) {
        CU_ASSERT_TRUE(program->ops->scout(program, &collector.sink));
        CU_ASSERT_EQUAL(collector.stream.count, 3 * i);
    }
    program->ops->destroy(program);
    stream_free(&collector.stream);
}

static void test_end_for_ever(void)
{
    struct tl_program_config config = fixture_config(empty, 1);
    struct program *program = tl_program_new(&config);
    for (int i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(program->ops->next(program)->op, OP_END);
    CU_ASSERT_EQUAL(program->error.code, ERROR_NONE);
    program->ops->destroy(program);
}

static void check_failure(uint32_t record_ahead)
{
    struct tl_program_config config = fixture_config(fails, record_ahead);
    struct program *program = tl_program_new(&config);
    struct collector collector = {.sink = {collect}};
    CU_ASSERT_TRUE(program->ops->scout(program, &collector.sink));
    CU_ASSERT_FALSE(program->ops->scout(program, &collector.sink));
    CU_ASSERT_EQUAL(collector.stream.count, 2);
    CU_ASSERT_EQUAL(program->error.code, ERROR_NONE); /* the scout keeps silent */
    CU_ASSERT_EQUAL(program->ops->next(program)->op, OP_MATH);
    CU_ASSERT_EQUAL(program->ops->next(program)->op, OP_MATH);
    CU_ASSERT_EQUAL(program->ops->next(program)->op, OP_FAIL);
    CU_ASSERT_EQUAL(program->error.code, ERROR_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(program->error.text, "enough of PE 2"));
    CU_ASSERT_EQUAL(program->ops->next(program)->op, OP_END);
    CU_ASSERT_EQUAL(program->ops->next(program)->op, OP_END);
    program->ops->destroy(program);
    stream_free(&collector.stream);
}

static void test_failure(void)
{
    const uint32_t bounds[] = {1, 2, 3, 4, UINT32_MAX};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        check_failure(bounds[i]);
}

static int mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(maps);
    int lines = 0;
    for (int c; (c = fgetc(maps)) != EOF;)
        lines += c == '\n';
    fclose(maps);
    return lines;
}

/* The stack goes with the last command, not with the program; and with a program given up. */
static void test_stacks_are_released(void)
{
    enum { MANY = 300 };
    static tl_kernel *const kernels[] = {busy, empty, fails};
    struct program *programs[MANY];
    int before = mappings();
    for (int i = 0; i < MANY; i++) {
        struct tl_program_config config = fixture_config(kernels[i % 3], 16);
        programs[i] = tl_program_new(&config);
        struct stream stream = stream_of(programs[i]);
        stream_free(&stream);
    }
    CU_ASSERT_TRUE(mappings() < before + 100);
    for (int i = 0; i < MANY; i++)
        programs[i]->ops->destroy(programs[i]);
    for (int i = 0; i < MANY; i++) {
        struct tl_program_config config = fixture_config(busy, 16);
        struct program *program = tl_program_new(&config);
        program->ops->next(program);
        program->ops->destroy(program);
    }
    CU_ASSERT_TRUE(mappings() < before + 100);
}

static void test_high_water(void)
{
    struct tl_program_config config = fixture_config(busy, 3);
    struct program *program = tl_program_new(&config);
    struct stream stream = stream_of(program);
    /* q, sum, the widest s, max */
    CU_ASSERT_EQUAL(program->scratch_high_water, 1024 + 64 + (8 * 22 * 4 + 63) / 64 * 64 + 32);
    stream_free(&stream);
    program->ops->destroy(program);
}

static void test_source_lines(void)
{
    struct stream stream = stream_of_kernel(busy, 64);
    CU_ASSERT_PTR_NOT_NULL(strstr(stream.commands[0].file, "test_record.c"));
    CU_ASSERT_TRUE(stream.commands[0].line > 0);
    CU_ASSERT_EQUAL(stream.commands[1].line, stream.commands[0].line + 1);
    stream_free(&stream);
}

CHECK_MAIN("tl/record", CHECK_TEST(test_bound_does_not_matter),
           CHECK_TEST(test_scout_sees_the_same), CHECK_TEST(test_scout_pauses),
           CHECK_TEST(test_end_for_ever), CHECK_TEST(test_failure),
           CHECK_TEST(test_stacks_are_released), CHECK_TEST(test_high_water),
           CHECK_TEST(test_source_lines))
