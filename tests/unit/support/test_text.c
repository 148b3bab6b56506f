/* What reaches a terminal is one line of printable UTF-8, whatever came in. */
#include "support/text.h"

#include <string.h>

#include "../check.h"

static void expect(const char *text, const char *wanted)
{
    char out[256];
    CU_ASSERT_STRING_EQUAL(text_escape(text, out, sizeof out), wanted);
}

static void test_printable_stays(void)
{
    expect("", "");
    expect("plain 'text' \\ ~", "plain 'text' \\ ~");
    expect("gr\xc3\xb6\xc3\x9f"
           "e \xe2\x82\xac \xf0\x9f\x98\x80",
           "gr\xc3\xb6\xc3\x9f"
           "e \xe2\x82\xac \xf0\x9f\x98\x80");
}

static void test_controls(void)
{
    expect("a\nb\rc\td", "a\\nb\\rc\\td");
    expect("\x1b[2J\a\x7f", "\\x1b[2J\\x07\\x7f");
    expect("\xc2\x9b"
           "31m",
           "\\xc2\\x9b31m"); /* C1 as UTF-8, and as a byte: */
    expect("\x9b"
           "31m",
           "\\x9b31m");
    expect("\xe2\x80\xae"
           "evil \xe2\x80\xa8 \xef\xbb\xbf",
           "\\xe2\\x80\\xaeevil \\xe2\\x80\\xa8 \\xef\\xbb\\xbf");
}

static void test_no_utf8(void)
{
    expect("\xff\xfe", "\\xff\\xfe");
    expect("\xc0\xaf", "\\xc0\\xaf");                   /* overlong */
    expect("\xe0\x80\xaf", "\\xe0\\x80\\xaf");          /* overlong */
    expect("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* half of a pair */
    expect("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond the last */
    expect("cut \xe2\x82", "cut \\xe2\\x82");
    expect("\xe2\x82(", "\\xe2\\x82(");
}

/* All texts of one and two bytes: the result is printable ASCII, or the text as it was. */
static void test_every_pair(void)
{
    for (int first = 1; first < 256; first++)
        for (int second = 0; second < 256; second++) {
            char text[3] = {(char)first, (char)second, '\0'}, out[16];
            text_escape(text, out, sizeof out);
            if (strcmp(text, out) == 0)
                continue;
            for (const char *at = out; *at != '\0'; at++)
                CU_ASSERT_TRUE(*at >= ' ' && *at <= '~');
        }
}

/* With any room the result is ended, within it, and says that it was cut; nothing is halved. */
static void test_cut(void)
{
    const char *text = "ab\n\xe2\x82\xac\x01\xc3\xb6z";
    char whole[64];
    text_escape(text, whole, sizeof whole);
    for (size_t bytes = 4; bytes <= sizeof whole; bytes++) {
        char out[80], again[sizeof out];
        memset(out, '#', sizeof out);
        text_escape(text, out, bytes);
        CU_ASSERT_FATAL(memchr(out, '\0', bytes) != NULL);
        CU_ASSERT_EQUAL(out[bytes], '#');
        size_t length = strlen(out);
        bool cut = strcmp(out, whole) != 0;
        CU_ASSERT_EQUAL(cut, bytes <= strlen(whole));
        CU_ASSERT_TRUE(!cut || (length >= 3 && strcmp(out + length - 3, "...") == 0));
        CU_ASSERT_TRUE(!cut || strncmp(out, whole, length - 3) == 0);
        CU_ASSERT_STRING_EQUAL(text_escape(out, again, sizeof again), out);
    }
}

static void test_room(void)
{
    char text[101], out[TEXT_ESCAPED_BYTES(sizeof text - 1)];
    memset(text, 1, sizeof text);
    text[100] = '\0';
    CU_ASSERT_EQUAL(strlen(text_escape(text, out, sizeof out)), 400);
}

CHECK_MAIN("support/text", CHECK_TEST(test_printable_stays), CHECK_TEST(test_controls),
           CHECK_TEST(test_no_utf8), CHECK_TEST(test_every_pair), CHECK_TEST(test_cut),
           CHECK_TEST(test_room))
