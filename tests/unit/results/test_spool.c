/* Records come back as they went in: any lengths, slices across blocks, more than one CUBE, after a
 * reset; a full disk is told by spool_finish(). */
#include "../check.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "results/spool.h"
#include "support/memory.h"

static struct trace_record record_of(uint32_t cube, uint64_t number)
{
    return (struct trace_record){.command = number,
                                 .issue_ps = number * 3,
                                 .end_ps = ~number,
                                 .cube = cube,
                                 .pe = (uint16_t)(number % 8)};
}

static void put_records(struct spool *spool, uint32_t cube, uint64_t first, uint64_t count)
{
    struct trace_sink *sink = spool_sink(spool, cube);
    for (uint64_t i = 0; i < count; i++) {
        struct trace_record record = record_of(cube, first + i);
        sink->put(sink, &record);
    }
}

static bool slice_is_right(struct spool *spool, uint32_t cube, uint64_t first, uint64_t count)
{
    struct error err = {ERROR_NONE, ""};
    struct trace_record *records = memory_new(count, sizeof *records);
    bool right = spool_read(spool, cube, first, count, records, &err);
    for (uint64_t i = 0; right && i < count; i++) {
        struct trace_record expected = record_of(cube, first + i);
        right = memcmp(&records[i], &expected, sizeof expected) == 0;
    }
    memory_free(records);
    return right;
}

static struct spool *new_spool(uint32_t cubes)
{
    struct error err = {ERROR_NONE, ""};
    struct spool *spool = spool_new("/tmp", cubes, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spool);
    return spool;
}

static void test_lengths(void)
{
    static const uint64_t lengths[] = {0, 1, 254, 255, 256, 509, 510, 511, 5000};
    enum { LENGTHS = sizeof lengths / sizeof lengths[0] };
    struct spool *spool = new_spool(LENGTHS);
    struct error err = {ERROR_NONE, ""};
    for (uint32_t i = 0; i < LENGTHS; i++)
        put_records(spool, i, 0, lengths[i]);
    CU_ASSERT_TRUE(spool_finish(spool, &err));
    for (uint32_t i = 0; i < LENGTHS; i++) {
        CU_ASSERT_EQUAL(spool_count(spool, i), lengths[i]);
        CU_ASSERT_TRUE(slice_is_right(spool, i, 0, lengths[i]));
    }
    spool_free(spool);
}

/* CUBEs take turns, so that their blocks lie mixed in the file. */
static void test_slices(void)
{
    enum { CUBES = 3, TURNS = 40, STEP = 97 };
    struct spool *spool = new_spool(CUBES);
    for (uint64_t turn = 0; turn < TURNS; turn++)
        for (uint32_t cube = 0; cube < CUBES; cube++)
            put_records(spool, cube, turn * STEP, STEP);
    for (uint64_t first = 0; first < TURNS * STEP; first += 500)
        for (uint32_t cube = 0; cube < CUBES; cube++) {
            uint64_t left = TURNS * STEP - first;
            CU_ASSERT_TRUE(slice_is_right(spool, cube, first, left < 500 ? left : 500));
        }
    CU_ASSERT_TRUE(slice_is_right(spool, 1, 3000, 10));
    CU_ASSERT_TRUE(slice_is_right(spool, 1, 10, 300)); /* backwards */
    spool_free(spool);
}

static void test_reset(void)
{
    struct spool *spool = new_spool(2);
    put_records(spool, 0, 0, 3000);
    put_records(spool, 1, 0, 10);
    CU_ASSERT_TRUE(slice_is_right(spool, 0, 0, 3000));
    spool_reset(spool);
    CU_ASSERT_EQUAL(spool_count(spool, 0), 0);
    CU_ASSERT_EQUAL(spool_count(spool, 1), 0);
    put_records(spool, 1, 0, 2000);
    put_records(spool, 0, 0, 700);
    CU_ASSERT_TRUE(slice_is_right(spool, 0, 0, 700));
    CU_ASSERT_TRUE(slice_is_right(spool, 1, 0, 2000));
    spool_free(spool);
}

static void test_no_cubes(void)
{
    struct error err = {ERROR_NONE, ""};
    struct spool *spool = new_spool(0);
    CU_ASSERT_TRUE(spool_finish(spool, &err));
    spool_reset(spool);
    spool_free(spool);
}

static void test_no_directory(void)
{
    struct error err = {ERROR_NONE, ""};
    CU_ASSERT_PTR_NULL(spool_new("/tmp/no-such-directory", 1, &err));
    CU_ASSERT_EQUAL(err.code, ERROR_FAILED);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "cannot write to /tmp/no-such-directory: No such file or directory");
}

/* A limit on the file's size stands for a full disk. */
static void test_full_disk(void)
{
    struct rlimit old, small = {64 << 10, 64 << 10};
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    struct spool *spool = new_spool(1);
    struct error err = {ERROR_NONE, ""};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    put_records(spool, 0, 0, 4000);
    CU_ASSERT_FALSE(spool_finish(spool, &err));
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "cannot write the trace to a temporary file in /tmp: File too large");
    error_clear(&err);
    spool_reset(spool);
    put_records(spool, 0, 0, 4000);
    CU_ASSERT_TRUE(spool_finish(spool, &err));
    CU_ASSERT_TRUE(slice_is_right(spool, 0, 0, 4000));
    spool_free(spool);
}

/* A million records must not show in memory. */
static void test_memory(void)
{
    struct rusage before, after;
    struct spool *spool = new_spool(4);
    getrusage(RUSAGE_SELF, &before);
    for (uint32_t cube = 0; cube < 4; cube++)
        put_records(spool, cube, 0, 250000);
    getrusage(RUSAGE_SELF, &after);
    CU_ASSERT_TRUE(after.ru_maxrss - before.ru_maxrss < 1024);
    CU_ASSERT_TRUE(slice_is_right(spool, 3, 249000, 1000));
    spool_free(spool);
}

int main(void)
{
    CU_TestInfo tests[] = {{"lengths", test_lengths},
                           {"slices", test_slices},
                           {"reset", test_reset},
                           {"no CUBEs", test_no_cubes},
                           {"no directory", test_no_directory},
                           {"full disk", test_full_disk},
                           {"memory", test_memory},
                           CU_TEST_INFO_NULL};
    return check_run("spool", tests);
}
