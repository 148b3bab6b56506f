/* The first cause counts, context goes in front, and a text is one bounded line. */
#include "support/error.h"

#include <string.h>

#include "../check.h"

static void test_first_cause_counts(void)
{
    struct error err = {0};
    CU_ASSERT_FALSE(error_set(&err, ERROR_USAGE, "no such key: %s", "a"));
    CU_ASSERT_FALSE(error_set(&err, ERROR_FAILED, "a consequence"));
    CU_ASSERT_EQUAL(err.code, ERROR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.text, "no such key: a");
}

static void test_context(void)
{
    struct error err = {0};
    error_set(&err, ERROR_FAILED, "disk full");
    CU_ASSERT_FALSE(error_context(&err, "writing %s", "out.h5"));
    error_context(&err, "point %d", 7);
    CU_ASSERT_STRING_EQUAL(err.text, "point 7: writing out.h5: disk full");
    CU_ASSERT_EQUAL(err.code, ERROR_FAILED);
}

static void test_clear(void)
{
    struct error err = {0};
    error_set(&err, ERROR_FAILED, "gone");
    error_clear(&err);
    CU_ASSERT_EQUAL(err.code, ERROR_NONE);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    error_set(&err, ERROR_USAGE, "next");
    CU_ASSERT_STRING_EQUAL(err.text, "next");
}

static void test_long_texts_are_cut(void)
{
    struct error err = {0};
    char text[3 * ERROR_TEXT_BYTES];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    error_set(&err, ERROR_FAILED, "%s", text);
    CU_ASSERT_EQUAL(strlen(err.text), ERROR_TEXT_BYTES - 1);
    error_context(&err, "%s", text);
    error_context(&err, "front");
    CU_ASSERT_EQUAL(strlen(err.text), ERROR_TEXT_BYTES - 1);
    CU_ASSERT_EQUAL(strncmp(err.text, "front: xxx", 10), 0);
}

static void test_statuses(void)
{
    CU_ASSERT_EQUAL(ERROR_NONE, 0);
    CU_ASSERT_EQUAL(ERROR_FAILED, 1);
    CU_ASSERT_EQUAL(ERROR_USAGE, 2);
}

static void meet_a_bug(void)
{
    error_bug("event %d in the past", 3);
}

static void test_bug_aborts(void)
{
    CU_ASSERT_TRUE(check_dies(meet_a_bug, SIGABRT));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"the first cause counts", test_first_cause_counts},
        {"context goes in front", test_context},
        {"clear", test_clear},
        {"long texts are cut", test_long_texts_are_cut},
        {"codes are exit statuses", test_statuses},
        {"a bug aborts", test_bug_aborts},
        CU_TEST_INFO_NULL,
    };
    return check_run("support/error", tests);
}
