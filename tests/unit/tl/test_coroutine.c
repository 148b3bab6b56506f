/* Coroutines against their contract, and that their stacks go when they do. */
#include <stdint.h>
#include <stdio.h>

#include "../check.h"
#include "support/memory.h"
#include "tl/coroutine.h"

enum { STACK = 64 * 1024 };

struct counter {
    struct coroutine *coroutine;
    int value;
    int stops;
};

static void count(void *argument)
{
    struct counter *counter = argument;
    for (int i = 0; i < counter->stops; i++) {
        counter->value++;
        coroutine_yield(counter->coroutine);
    }
    counter->value = -1;
}

static void leave(void *argument)
{
    struct counter *counter = argument;
    counter->value = 1;
    coroutine_exit(counter->coroutine);
}

static struct counter *start(coroutine_body *body, int stops)
{
    struct counter *counter = memory_new(1, sizeof *counter);
    counter->stops = stops;
    counter->coroutine = coroutine_new(body, counter, STACK);
    return counter;
}

static void stop(struct counter *counter)
{
    coroutine_free(counter->coroutine);
    memory_free(counter);
}

static void test_yields_and_ends(void)
{
    struct counter *counter = start(count, 3);
    for (int i = 1; i <= 3; i++) {
        CU_ASSERT_TRUE(coroutine_resume(counter->coroutine));
        CU_ASSERT_EQUAL(counter->value, i);
    }
    CU_ASSERT_FALSE(coroutine_resume(counter->coroutine));
    CU_ASSERT_EQUAL(counter->value, -1);
    stop(counter);
}

static void test_exit(void)
{
    struct counter *counter = start(leave, 0);
    CU_ASSERT_FALSE(coroutine_resume(counter->coroutine));
    CU_ASSERT_EQUAL(counter->value, 1);
    stop(counter);
}

static void test_interleaved(void)
{
    enum { MANY = 50 };
    struct counter *counters[MANY];
    for (int i = 0; i < MANY; i++)
        counters[i] = start(count, i + 1);
    for (int round = 0; round < MANY; round++)
        for (int i = round; i < MANY; i++)
            CU_ASSERT_TRUE(coroutine_resume(counters[i]->coroutine));
    for (int i = 0; i < MANY; i++) {
        CU_ASSERT_EQUAL(counters[i]->value, i + 1);
        CU_ASSERT_FALSE(coroutine_resume(counters[i]->coroutine));
        stop(counters[i]);
    }
}

/* On one stack, whether the one before returned or exited in the middle. */
static void test_restart(void)
{
    struct counter *counter = start(leave, 2);
    for (int i = 0; i < 100; i++) {
        CU_ASSERT_FALSE(coroutine_resume(counter->coroutine));
        CU_ASSERT_EQUAL(counter->value, 1);
        counter->value = 0;
        coroutine_restart(counter->coroutine, count, counter);
        CU_ASSERT_TRUE(coroutine_resume(counter->coroutine));
        CU_ASSERT_TRUE(coroutine_resume(counter->coroutine));
        CU_ASSERT_EQUAL(counter->value, 2);
        CU_ASSERT_FALSE(coroutine_resume(counter->coroutine));
        CU_ASSERT_EQUAL(counter->value, -1);
        coroutine_restart(counter->coroutine, leave, counter);
    }
    CU_ASSERT_FALSE(coroutine_resume(counter->coroutine));
    stop(counter);
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

/* 1000 of them, freed in the middle, at their start and at their end. */
static void test_stacks_are_released(void)
{
    int before = mappings();
    for (int i = 0; i < 1000; i++) {
        struct counter *counter = start(count, 1);
        for (int resumes = 0; resumes < i % 3; resumes++)
            coroutine_resume(counter->coroutine);
        stop(counter);
    }
    CU_ASSERT_TRUE(mappings() < before + 100);
}

CHECK_MAIN("tl/coroutine", CHECK_TEST(test_yields_and_ends), CHECK_TEST(test_exit),
           CHECK_TEST(test_interleaved), CHECK_TEST(test_restart),
           CHECK_TEST(test_stacks_are_released))
