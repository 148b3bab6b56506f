/* Memory is zeroed, aligned and guarded as promised, and its end is the end of the process. */
#include "support/memory.h"

#include <stdint.h>
#include <string.h>

#include "../check.h"

static bool all_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static void test_new_is_zeroed(void)
{
    unsigned char *block = memory_new(1000, 3);
    CU_ASSERT_TRUE(all_zero(block, 3000));
    memory_free(block);
    block = memory_new(0, 8);
    CU_ASSERT_PTR_NOT_NULL(block);
    memory_free(block);
    memory_free(NULL);
}

static void test_resize_keeps(void)
{
    uint64_t *items = memory_resize(NULL, 2, sizeof *items);
    items[0] = 1;
    items[1] = 2;
    items = memory_resize(items, 100000, sizeof *items);
    CU_ASSERT_EQUAL(items[0], 1);
    CU_ASSERT_EQUAL(items[1], 2);
    items[99999] = 3;
    memory_free(items);
}

static void test_alignment(void)
{
    for (size_t alignment = 16; alignment <= 4096; alignment *= 2) {
        unsigned char *block = memory_new_aligned(3, 5, alignment);
        CU_ASSERT_EQUAL((uintptr_t)block % alignment, 0);
        CU_ASSERT_TRUE(all_zero(block, 15));
        memory_free(block);
    }
    memory_free(memory_new_aligned(0, 8, 64));
}

static void test_copy_text(void)
{
    char text[] = "text";
    char *copy = memory_copy_text(text);
    text[0] = 'n';
    CU_ASSERT_STRING_EQUAL(copy, "text");
    memory_free(copy);
}

static void test_stack(void)
{
    size_t usable = 0;
    unsigned char *stack = memory_stack_new(10000, &usable);
    CU_ASSERT_TRUE(usable >= 10000);
    CU_ASSERT_EQUAL((uintptr_t)stack % (size_t)sysconf(_SC_PAGESIZE), 0);
    memset(stack, 1, usable);
    memory_stack_free(stack, usable);
}

/* The fault must end the process even where a sanitizer would report it instead. */
static void overflow_stack(void)
{
    size_t usable;
    volatile unsigned char *stack = memory_stack_new(4096, &usable);
    signal(SIGSEGV, SIG_DFL);
    stack[-1] = 1;
}

static void ask_too_much(void)
{
    volatile size_t count = SIZE_MAX / 2;
    memory_free(memory_new(count, 4));
}

static void grow_too_much(void)
{
    volatile size_t count = SIZE_MAX / 2;
    memory_free(memory_resize(NULL, count, 4));
}

static void test_faults(void)
{
    CU_ASSERT_TRUE(check_dies(overflow_stack, SIGSEGV));
    CU_ASSERT_TRUE(check_dies(grow_too_much, SIGABRT));
#ifndef __SANITIZE_ADDRESS__ /* it reports the request itself */
    CU_ASSERT_TRUE(check_dies(ask_too_much, SIGABRT));
#else
    (void)ask_too_much;
#endif
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"new memory is zeroed", test_new_is_zeroed},
        {"resize keeps contents", test_resize_keeps},
        {"alignment", test_alignment},
        {"texts are copied", test_copy_text},
        {"stacks", test_stack},
        {"faults end the process", test_faults},
        CU_TEST_INFO_NULL,
    };
    return check_run("support/memory", tests);
}
