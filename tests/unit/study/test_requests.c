/* A file of request lengths: what is read, exactly, and what is refused, with its line. */
#include "study/requests.h"

#include <stdio.h>
#include <string.h>

#include "../check.h"
#include "decode.h"
#include <ahbm/kit/placement.h>
#include "study/problem.h"
#include "support/memory.h"

#define ALLOWED                                                                                    \
    " is not allowed (allowed: one length per line, 1 to 68719476736, with K, M or G for 1024, "   \
    "1024^2, 1024^3; # begins a comment)"

/* `wanted` ends in 0. */
static void expect_bytes(const char *text, size_t bytes, const uint64_t *wanted)
{
    struct error err = {ERROR_NONE, ""};
    uint64_t *lengths;
    uint32_t count, expected = 0;
    while (wanted[expected] != 0)
        expected++;
    CU_ASSERT_TRUE_FATAL(requests_parse("list", text, bytes, &lengths, &count, &err));
    CU_ASSERT_EQUAL_FATAL(count, expected);
    CU_ASSERT_EQUAL(memcmp(lengths, wanted, count * sizeof *wanted), 0);
    memory_free(lengths);
}

#define EXPECT(text, ...) expect_bytes(text, sizeof text - 1, (const uint64_t[]){__VA_ARGS__, 0})

static void refuse_bytes(const char *text, size_t bytes, const char *expected)
{
    struct error err = {ERROR_NONE, ""};
    uint64_t *lengths;
    uint32_t count;
    CU_ASSERT_FALSE(requests_parse("list", text, bytes, &lengths, &count, &err));
    CU_ASSERT_EQUAL(err.code, ERROR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.text, expected);
}

#define REFUSE(text, expected) refuse_bytes(text, sizeof text - 1, "--requests: list" expected)

static void test_forms(void)
{
    EXPECT("300\n", 300);
    EXPECT("300", 300);
    EXPECT("300\n1\n1K\n2M\n3G", 300, 1, 1024, 2 << 20, UINT64_C(3) << 30);
    EXPECT("\n\n 7 \n\t8\t\n\n", 7, 8);
    EXPECT("007\n", 7);
    EXPECT("5\r\n6\r\n", 5, 6);
    EXPECT("5\r\n\r\n6\r", 5, 6);
    EXPECT("# all\n5 # five\n6#six\n  # none\n#7", 5, 6);
    EXPECT("\xef\xbb\xbf"
           "5\n6\n",
           5, 6);
    EXPECT("\xef\xbb\xbf# bytes of no text: \xff\x1b\n5", 5);
    EXPECT("64G\n", STUDY_CONTEXT_MAX);
}

/* Where the old reader split a line at 255 characters. */
static void test_long_lines(void)
{
    enum { LONG = 100000 };
    char *text = memory_new(LONG + 16, 1);
    for (size_t start = 1; start < 1100; start += 17) {
        memset(text, ' ', LONG);
        text[start] = '#';
        memset(text + start + 1, '4', LONG - start - 1);
        strcpy(text + LONG, "\n5\n");
        expect_bytes(text, LONG + 3, (const uint64_t[]){5, 0});
        text[start] = '4';
        memset(text + start + 1, ' ', LONG - start - 1);
        expect_bytes(text, LONG + 3, (const uint64_t[]){4, 5, 0});
    }
    memset(text, '0', LONG);
    text[LONG - 1] = '9';
    expect_bytes(text, LONG, (const uint64_t[]){9, 0});
    memory_free(text);
}

static void test_other_words(void)
{
    REFUSE("8192 garbage\n", ":1: '8192 garbage'" ALLOWED);
    REFUSE("1\n4096 100\n", ":2: '4096 100'" ALLOWED);
    REFUSE("1\n\n# 3\n4096\t100\n", ":4: '4096\t100'" ALLOWED);
    REFUSE("4096\r100\n", ":1: '4096\r100'" ALLOWED);
    REFUSE("4096,100", ":1: '4096,100'" ALLOWED);
    REFUSE("0\n", ":1: '0'" ALLOWED);
    REFUSE("-1\n", ":1: '-1'" ALLOWED);
    REFUSE("+1\n", ":1: '+1'" ALLOWED);
    REFUSE("1.5\n", ":1: '1.5'" ALLOWED);
    REFUSE("1e3\n", ":1: '1e3'" ALLOWED);
    REFUSE("0x10\n", ":1: '0x10'" ALLOWED);
    REFUSE("1 K\n", ":1: '1 K'" ALLOWED);
    REFUSE("1KB\n", ":1: '1KB'" ALLOWED);
    REFUSE("K\n", ":1: 'K'" ALLOWED);
    REFUSE("8K..1M\n", ":1: '8K..1M'" ALLOWED);
    REFUSE("// 8\n", ":1: '// 8'" ALLOWED);
    REFUSE("\xc2\xa0"
           "8\n",
           ":1: '\xc2\xa0"
           "8'" ALLOWED);
    REFUSE("5\n\xef\xbb\xbf"
           "6\n",
           ":2: '\xef\xbb\xbf"
           "6'" ALLOWED);
    REFUSE("68719476737\n", ":1: '68719476737'" ALLOWED);
    REFUSE("18446744073709551617\n", ":1: '18446744073709551617'" ALLOWED);
    REFUSE("99999999999999999999999999999999999999999999999999999999999999999999\n",
           ":1: '999999999999999999999999999999999999999999999999999999999999...'" ALLOWED);
}

static void test_no_text(void)
{
    REFUSE("1\n5\0006\n", ":2: a NUL byte: this is no text");
    REFUSE("5 # \0 6\n", ":1: a NUL byte: this is no text");
    REFUSE("\0", ":1: a NUL byte: this is no text");
    REFUSE("\xff\xfe"
           "5\0\n\0",
           ":1: a NUL byte: this is no text");
    REFUSE("", ": has no lengths (one per line)");
    REFUSE("\xef\xbb\xbf", ": has no lengths (one per line)");
    REFUSE("# 1\n\n  # 2\r\n", ": has no lengths (one per line)");
}

static void test_most(void)
{
    enum { MOST = STUDY_BATCH_MAX, LINE = 3 };
    char *text = memory_new((MOST + 1) * LINE + 1, 1);
    struct error err = {ERROR_NONE, ""};
    uint64_t *lengths;
    uint32_t count;
    for (size_t i = 0; i <= MOST; i++)
        memcpy(text + i * LINE, "7\r\n", LINE);
    CU_ASSERT_TRUE_FATAL(requests_parse("list", text, (size_t)MOST * LINE, &lengths, &count, &err));
    CU_ASSERT_EQUAL(count, MOST);
    CU_ASSERT_EQUAL(lengths[MOST - 1], 7);
    memory_free(lengths);
    refuse_bytes(text, (size_t)(MOST + 1) * LINE,
                 "--requests: list:65537: more than 65536 requests");
    memory_free(text);
}

/* The file's lengths are the batch, whatever was there before. */
static void test_read(void)
{
    char path[] = "/tmp/test_requests_XXXXXX";
    struct study_options options = {.contexts = memory_new(1, sizeof(uint64_t))};
    struct error err = {ERROR_NONE, ""};
    int file = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(file >= 0 && write(file, "5\n9\n7", 5) == 5);
    close(file);
    CU_ASSERT_TRUE(requests_read(path, &options, &err));
    CU_ASSERT_EQUAL(options.batch, 3);
    CU_ASSERT_EQUAL(options.contexts_count, 1);
    CU_ASSERT_EQUAL(options.contexts[0], 9);
    CU_ASSERT_EQUAL(options.request_contexts[2], 7);
    unlink(path);
    CU_ASSERT_FALSE(requests_read(path, &options, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, ": cannot be opened: No such file or directory"));
    memory_free(options.request_contexts);
    memory_free(options.contexts);
}

/* Query heads that are requests of their own have the length of theirs; no reader goes past the
 * list, whose end here is the end of its memory. */
static void test_heads_apart(void)
{
    static const uint64_t lengths[] = {1000, 1, 77};
    struct machine_params params = decode_machine(NULL);
    struct study_options options = decode_options();
    struct problem problem;
    uint64_t *list = memory_new(3, sizeof *list);
    memcpy(list, lengths, sizeof lengths);
    options.kernel = "decode-mha";
    options.batch = 3;
    options.request_contexts = list;
    problem_init(&problem, &params, &options, 2, 1000);
    uint32_t heads = (uint32_t)(params.model.query_heads / params.model.kv_heads);
    CU_ASSERT_TRUE_FATAL(heads > 1);
    CU_ASSERT_EQUAL_FATAL(problem.launch.batch, 3 * heads);
    uint64_t tokens = 0, bytes = 0;
    for (uint32_t r = 0; r < problem.launch.batch; r++) {
        CU_ASSERT_EQUAL(tl_context(&problem.launch, r), lengths[r / heads]);
        tokens += lengths[r / heads];
    }
    for (uint32_t pe = 0; pe < problem.launch.pes; pe++)
        bytes += problem_footprint(&problem, 0, pe).kv_bytes;
    CU_ASSERT_EQUAL(bytes, tokens * 2 * 2 * params.model.head_dim);
    memory_free(list);
}

CHECK_MAIN("study/requests", CHECK_TEST(test_forms), CHECK_TEST(test_long_lines),
           CHECK_TEST(test_other_words), CHECK_TEST(test_no_text), CHECK_TEST(test_most),
           CHECK_TEST(test_read), CHECK_TEST(test_heads_apart))
