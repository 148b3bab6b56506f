/* Scratch allocation, scopes and the batch of commands, below the level of kernels. */
#include "../check.h"
#include "tl/arena.h"
#include "tl/batch.h"

static void test_take_aligns_and_fills(void)
{
    struct tl_arena arena = {.bytes = 200};
    uint64_t addr = 99;
    CU_ASSERT_TRUE(tl_arena_take(&arena, 1, &addr));
    CU_ASSERT_EQUAL(addr, 0);
    CU_ASSERT_TRUE(tl_arena_take(&arena, 64, &addr));
    CU_ASSERT_EQUAL(addr, 64);
    CU_ASSERT_TRUE(tl_arena_take(&arena, 72, &addr));
    CU_ASSERT_EQUAL(addr, 128);
    CU_ASSERT_EQUAL(arena.used, 200);
    CU_ASSERT_FALSE(tl_arena_take(&arena, 1, &addr));
    CU_ASSERT_FALSE(tl_arena_take(&arena, UINT64_MAX, &addr));
    CU_ASSERT_EQUAL(arena.high_water, 200);
}

static void test_scopes(void)
{
    struct tl_arena arena = {.bytes = 1024};
    uint64_t addr;
    CU_ASSERT_EQUAL(tl_arena_scope(&arena), 0);
    CU_ASSERT_TRUE(tl_arena_begin(&arena));
    uint32_t outer = tl_arena_scope(&arena);
    tl_arena_take(&arena, 100, &addr);
    CU_ASSERT_TRUE(tl_arena_begin(&arena));
    uint32_t inner = tl_arena_scope(&arena);
    tl_arena_take(&arena, 500, &addr);
    CU_ASSERT_FALSE(tl_arena_end(&arena, outer));
    CU_ASSERT_TRUE(tl_arena_is_live(&arena, inner));
    CU_ASSERT_TRUE(tl_arena_end(&arena, inner));
    CU_ASSERT_FALSE(tl_arena_is_live(&arena, inner));
    CU_ASSERT_TRUE(tl_arena_is_live(&arena, outer));
    CU_ASSERT_TRUE(tl_arena_is_live(&arena, 0));
    CU_ASSERT_EQUAL(arena.used, 100);
    CU_ASSERT_TRUE(tl_arena_begin(&arena));
    CU_ASSERT_NOT_EQUAL(tl_arena_scope(&arena), inner); /* never the same number again */
    CU_ASSERT_TRUE(tl_arena_end(&arena, tl_arena_scope(&arena)));
    CU_ASSERT_TRUE(tl_arena_end(&arena, outer));
    CU_ASSERT_FALSE(tl_arena_end(&arena, outer));
    CU_ASSERT_EQUAL(arena.used, 0);
    CU_ASSERT_EQUAL(arena.high_water, 628);
}

static void test_depth_limit(void)
{
    struct tl_arena arena = {.bytes = 64};
    for (int i = 0; i < TL_SCOPE_DEPTH; i++)
        CU_ASSERT_TRUE(tl_arena_begin(&arena));
    CU_ASSERT_FALSE(tl_arena_begin(&arena));
}

static void check_batch(uint32_t limit)
{
    struct tl_batch batch;
    tl_batch_init(&batch, limit);
    for (int round = 0; round < 3; round++) {
        uint32_t many = limit < 1000 ? limit : 1000;
        for (uint32_t i = 0; i < many; i++) {
            struct command command = {.line = i};
            tl_batch_put(&batch, &command);
        }
        CU_ASSERT_EQUAL(tl_batch_full(&batch), many == limit);
        for (uint32_t i = 0; i < many; i++)
            CU_ASSERT_EQUAL(tl_batch_take(&batch)->line, i);
        CU_ASSERT_TRUE(tl_batch_empty(&batch));
        tl_batch_restart(&batch);
    }
    CU_ASSERT_TRUE(batch.capacity <= limit);
    tl_batch_fini(&batch);
}

static void test_batch(void)
{
    const uint32_t limits[] = {1, 2, 15, 16, 17, 256, 1000, UINT32_MAX};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        check_batch(limits[i]);
}

CHECK_MAIN("tl/arena", CHECK_TEST(test_take_aligns_and_fills), CHECK_TEST(test_scopes),
           CHECK_TEST(test_depth_limit), CHECK_TEST(test_batch))
