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

static void first_hook(void)
{
    if (write(STDERR_FILENO, "first\n", 6) < 0)
        abort();
}

/* It runs out of memory itself: that is not told again. */
static void second_hook(void)
{
    if (write(STDERR_FILENO, "second\n", 7) < 0)
        abort();
    grow_too_much();
}

static void fail_with_hooks(void)
{
    memory_on_failure(first_hook);
    memory_on_failure(second_hook);
    grow_too_much();
}

/* What `act` says on standard error in a process of its own, which must end with status 1. */
static void run_out(void (*act)(void), char *said, size_t room)
{
    int ends[2], status = 0;
    fflush(NULL);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        act();
        _exit(0);
    }
    close(ends[1]);
    ssize_t bytes = 0, more;
    while ((more = read(ends[0], said + bytes, room - 1 - (size_t)bytes)) > 0)
        bytes += more;
    said[bytes] = '\0';
    close(ends[0]);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static void test_faults(void)
{
    char said[1024];
    CU_ASSERT_TRUE(check_dies(overflow_stack, SIGSEGV));
    run_out(grow_too_much, said, sizeof said);
    CU_ASSERT_STRING_EQUAL(said, "ahbm-pdes: error: out of memory: 9223372036854775807 x 4 bytes "
                                 "cannot be had\n");
#ifndef __SANITIZE_ADDRESS__ /* it reports the request itself */
    run_out(ask_too_much, said, sizeof said);
    CU_ASSERT_STRING_EQUAL(said, "ahbm-pdes: error: out of memory: 9223372036854775807 x 4 bytes "
                                 "cannot be had\n");
#else
    (void)ask_too_much;
#endif
}

/* The last one registered runs first, each once. */
static void test_hooks(void)
{
    char said[1024];
    run_out(fail_with_hooks, said, sizeof said);
    const char *after = strchr(said, '\n');
    CU_ASSERT_PTR_NOT_NULL_FATAL(after);
    CU_ASSERT_TRUE(strncmp(after + 1, "second\n", 7) == 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(after, "\nfirst\n"));
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
        {"what is done before the end", test_hooks},
        CU_TEST_INFO_NULL,
    };
    return check_run("support/memory", tests);
}
