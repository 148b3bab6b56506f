/* What unit tests share: running a table of CUnit tests, and seeing a process die as it must. */
#ifndef AHBM_TESTS_CHECK_H
#define AHBM_TESTS_CHECK_H

#include <CUnit/Basic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `tests` (closed by CU_TEST_INFO_NULL) as one suite. Returns main()'s status. */
static inline int check_run(const char *suite, CU_TestInfo *tests)
{
    CU_SuiteInfo suites[] = {{suite, NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
    if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
        return 2;
    CU_basic_run_tests();
    unsigned failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures > 0;
}

/* Whether `act` ends its process by `signal`; its words on standard error are not shown. */
static inline bool check_dies(void (*act)(void), int expected)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(expected, SIG_DFL);
        if (freopen("/dev/null", "w", stderr) != NULL)
            act();
        _exit(0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == expected;
}

/* CHECK_MAIN("tl/record", CHECK_TEST(function), ...) is the main() of such a program. */
/* clang-format off */
#define CHECK_TEST(function) {#function, function}
/* clang-format on */
#define CHECK_MAIN(suite, ...)                                                                     \
    int main(void)                                                                                 \
    {                                                                                              \
        CU_TestInfo tests[] = {__VA_ARGS__, CU_TEST_INFO_NULL};                                    \
        return check_run(suite, tests);                                                            \
    }

#endif
