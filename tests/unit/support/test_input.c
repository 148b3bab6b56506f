/* Files of users: which kinds are read, that no call waits for ever, and their identity. */
#include "support/input.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../check.h"
#include "support/clock.h"
#include "support/memory.h"

static char folder[] = "/tmp/test_input_XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *bytes, size_t count)
{
    FILE *file = fopen(path_of(name), "wb");
    CU_ASSERT_EQUAL_FATAL(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static void expect_text(const char *path, size_t most, const char *wanted, size_t count)
{
    struct error err = {ERROR_NONE, ""};
    char *text;
    size_t bytes;
    CU_ASSERT_TRUE_FATAL(input_read(path, most, &text, &bytes, &err));
    CU_ASSERT_EQUAL_FATAL(bytes, count);
    CU_ASSERT_EQUAL(memcmp(text, wanted, count), 0);
    CU_ASSERT_EQUAL(text[count], '\0');
    memory_free(text);
}

static void expect_refusal(const char *path, size_t most, const char *wanted)
{
    struct error err = {ERROR_NONE, ""};
    char *text;
    size_t bytes;
    CU_ASSERT_FALSE(input_read(path, most, &text, &bytes, &err));
    CU_ASSERT_EQUAL(err.code, ERROR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.text, wanted);
}

static void test_files(void)
{
    enum { LARGE = 300000 };
    char *large = memory_new(LARGE, 1);
    memset(large, 'x', LARGE);
    write_file("large", large, LARGE);
    write_file("empty", "", 0);
    write_file("nul", "a\0b", 3);
    expect_text(path_of("large"), LARGE, large, LARGE);
    expect_text(path_of("empty"), 10, "", 0);
    expect_text(path_of("nul"), 3, "a\0b", 3);
    expect_refusal(path_of("nul"), 2, "is larger than 2 bytes");
    expect_refusal(path_of("large"), LARGE - 1, "is larger than 299999 bytes");
    memory_free(large);
}

static void test_kinds(void)
{
    expect_refusal(path_of("none"), 10, "cannot be opened: No such file or directory");
    expect_refusal(folder, 10, "is a directory; a file is expected");
    expect_refusal("/dev/zero", 10, "is a device; a file is expected");
    expect_refusal("/dev/null", 10, "is a device; a file is expected");
    expect_refusal("/dev/fd/999", 10,
                   "cannot be opened: the launcher does not hand on open files, such as those of "
                   "<(...): use a file, or /dev/stdin");
    write_file("file", "x", 1);
    expect_refusal(path_of("file/x"), 10, "cannot be opened: Not a directory");
}

/* In a child: opens the pipe, writes text in pieces with pauses, closes it. */
static pid_t write_pipe(const char *path, const char *const *pieces, unsigned pause_ms)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    usleep(1000 * pause_ms);
    int pipe = open(path, O_WRONLY);
    for (; *pieces != NULL; pieces++) {
        if (write(pipe, *pieces, strlen(*pieces)) < 0)
            _exit(1);
        usleep(1000 * pause_ms);
    }
    _exit(0);
}

static void test_pipes(void)
{
    static const char *const pieces[] = {"one\n", "two\n", NULL}, *const none[] = {NULL};
    CU_ASSERT_EQUAL_FATAL(mkfifo(path_of("pipe"), 0600), 0);
    const char *path = path_of("pipe");
    for (unsigned pause = 0; pause <= 200; pause += 100) {
        pid_t child = write_pipe(path, pieces, pause);
        expect_text(path, 8, "one\ntwo\n", 8);
        waitpid(child, NULL, 0);
    }
    pid_t child = write_pipe(path, none, 100);
    expect_text(path, 8, "", 0);
    waitpid(child, NULL, 0);
    child = write_pipe(path, pieces, 0);
    expect_refusal(path, 3, "is larger than 3 bytes");
    waitpid(child, NULL, 0);
}

static void test_silent_pipes(void)
{
    double start = clock_wall();
    expect_refusal(path_of("pipe"), 8, "is a pipe that nobody writes to");
    CU_ASSERT_TRUE(clock_wall() - start < INPUT_WAIT_S);
    int writer = open(path_of("pipe"), O_RDWR);
    start = clock_wall();
    expect_refusal(path_of("pipe"), 8, "is not written and closed within 10 s: write a file first");
    CU_ASSERT_TRUE(clock_wall() - start >= INPUT_WAIT_S);
    close(writer);
}

static struct input_identity identity_of(const char *path)
{
    struct error err = {ERROR_NONE, ""};
    struct input_identity identity = {0, 0};
    CU_ASSERT_TRUE_FATAL(input_identify(path, &identity, &err));
    return identity;
}

static bool equal(struct input_identity a, struct input_identity b)
{
    return a.bytes == b.bytes && a.digest == b.digest;
}

/* Every byte counts, the last few, too. */
static void test_identity(void)
{
    enum { BYTES = 70003 };
    char *bytes = memory_new(BYTES, 1);
    write_file("one", bytes, BYTES);
    write_file("same", bytes, BYTES);
    struct input_identity one = identity_of(path_of("one"));
    CU_ASSERT_TRUE(equal(one, identity_of(path_of("same"))));
    static const size_t places[] = {0, 8, 65535, 65536, 69999, BYTES - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bytes[places[i]] = 1;
        write_file("other", bytes, BYTES);
        CU_ASSERT_FALSE(equal(one, identity_of(path_of("other"))));
        bytes[places[i]] = 0;
    }
    write_file("shorter", bytes, BYTES - 1);
    CU_ASSERT_FALSE(equal(one, identity_of(path_of("shorter"))));
    memory_free(bytes);
}

static void set_byte(const char *name, off_t size, off_t place, char byte)
{
    int file = open(path_of(name), O_RDWR | O_CREAT, 0600);
    CU_ASSERT_EQUAL_FATAL(ftruncate(file, size), 0);
    CU_ASSERT_EQUAL_FATAL(pwrite(file, &byte, 1, place), 1);
    close(file);
}

/* Up to INPUT_WHOLE_BYTES whole; above it in blocks, of which the first and the last are two. */
static void test_large_identity(void)
{
    const off_t sizes[] = {INPUT_WHOLE_BYTES, INPUT_WHOLE_BYTES + 1, (off_t)10 << 30};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        off_t size = sizes[i], places[] = {0, size - 1, size / 2};
        set_byte("sparse", size, 0, 0);
        struct input_identity empty = identity_of(path_of("sparse"));
        CU_ASSERT_EQUAL(empty.bytes, (uint64_t)size);
        for (size_t k = 0; k < (size <= INPUT_WHOLE_BYTES + 1 ? 3 : 2); k++) {
            set_byte("sparse", size, places[k], 1);
            CU_ASSERT_FALSE(equal(empty, identity_of(path_of("sparse"))));
            set_byte("sparse", size, places[k], 0);
        }
        CU_ASSERT_TRUE(equal(empty, identity_of(path_of("sparse"))));
    }
}

static void refuse_identity(const char *path, const char *wanted)
{
    struct error err = {ERROR_NONE, ""};
    CU_ASSERT_FALSE(input_identify(path, NULL, &err));
    CU_ASSERT_STRING_EQUAL(err.text, wanted);
}

static void test_no_identity(void)
{
    refuse_identity(path_of("pipe"), "is a pipe; a file is expected");
    refuse_identity(path_of("empty"), "is empty");
    refuse_identity(path_of("none"), "cannot be opened: No such file or directory");
    refuse_identity("/dev/zero", "is a device; a file is expected");
}

static void clean(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        CHECK_TEST(test_files),        CHECK_TEST(test_kinds),    CHECK_TEST(test_pipes),
        CHECK_TEST(test_silent_pipes), CHECK_TEST(test_identity), CHECK_TEST(test_large_identity),
        CHECK_TEST(test_no_identity),  CHECK_TEST(clean),         CU_TEST_INFO_NULL,
    };
    return mkdtemp(folder) != NULL ? check_run("support/input", tests) : 2;
}
