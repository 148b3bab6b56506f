/* A rehearsal tells what the recorder would, up to its bound, and starts afresh each time. */
#include "tl/rehearsal.h"

#include "../check.h"
#include "fixture.h"

enum { COMMANDS = 50 };

static uint32_t fail_at; /* the command before which it fails; 0: never */
static uint32_t begun;   /* commands that were recorded */

static void kernel(struct tl *tl, const struct tl_launch *launch)
{
    begun = 0;
    TL_SCRATCH_SCOPE(tl)
    {
        struct tl_tensor a = tl_empty(tl, 256, 1, TL_F32);
        for (uint32_t i = 1; i <= COMMANDS; i++, begun++) {
            if (i == fail_at)
                tl_fail(tl, "PE %u stops", launch->pe);
            tl_full_to(tl, a, 0);
        }
    }
}

static void full(struct tl *tl, const struct tl_launch *launch)
{
    (void)launch;
    tl_empty(tl, FIXTURE_SCRATCH, 1, TL_F32);
}

static struct error rehearse_with(struct tl_rehearsal *rehearsal, tl_kernel *what, uint64_t most)
{
    struct tl_program_config config = fixture_config(what, 1);
    struct error err = {ERROR_NONE, ""};
    CU_ASSERT_EQUAL(tl_rehearse(rehearsal, &config, most, &err), err.code == ERROR_NONE);
    return err;
}

static void test_good(void)
{
    struct tl_rehearsal *rehearsal = tl_rehearsal_new();
    fail_at = 0;
    CU_ASSERT_EQUAL(rehearse_with(rehearsal, kernel, UINT64_MAX).code, ERROR_NONE);
    CU_ASSERT_EQUAL(begun, COMMANDS);
    tl_rehearsal_free(rehearsal);
}

/* It stops with the command that reaches the bound. */
static void test_bound(void)
{
    struct tl_rehearsal *rehearsal = tl_rehearsal_new();
    fail_at = 20;
    for (uint64_t most = 1; most < 30; most++) {
        struct error err = rehearse_with(rehearsal, kernel, most);
        CU_ASSERT_EQUAL(err.code, most < fail_at ? ERROR_NONE : ERROR_USAGE);
        CU_ASSERT_EQUAL(begun, most < fail_at ? most - 1 : fail_at - 1);
    }
    tl_rehearsal_free(rehearsal);
}

static void test_words_are_the_recorders(void)
{
    struct tl_rehearsal *rehearsal = tl_rehearsal_new();
    tl_kernel *const kernels[] = {kernel, full};
    fail_at = 7;
    for (int i = 0; i < 2; i++) {
        struct tl_program_config config = fixture_config(kernels[i], 64);
        struct program *program = tl_program_new(&config);
        while (program->ops->next(program)->op != OP_FAIL)
            continue;
        struct error err = rehearse_with(rehearsal, kernels[i], 1000);
        CU_ASSERT_STRING_EQUAL(err.text, program->error.text);
        program->ops->destroy(program);
    }
    tl_rehearsal_free(rehearsal);
}

/* The scratch of one that was left in the middle is not in use in the next. */
static void test_afresh(void)
{
    struct tl_rehearsal *rehearsal = tl_rehearsal_new();
    for (int i = 0; i < 3000; i++) { /* each leaves 1 KiB of the 1 MiB */
        fail_at = i % 3 == 0 ? 3 : 0;
        struct error err = rehearse_with(rehearsal, kernel, 10);
        CU_ASSERT_EQUAL(err.code, fail_at ? ERROR_USAGE : ERROR_NONE);
    }
    tl_rehearsal_free(rehearsal);
    tl_rehearsal_free(tl_rehearsal_new());
}

CHECK_MAIN("tl/rehearsal", CHECK_TEST(test_good), CHECK_TEST(test_bound),
           CHECK_TEST(test_words_are_the_recorders), CHECK_TEST(test_afresh))
