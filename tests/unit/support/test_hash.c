/* The digest depends on every word, on their order and their number, and on nothing else. */
#include "support/hash.h"

#include "../check.h"

static uint64_t digest(const uint64_t *words, size_t count)
{
    uint64_t state = HASH_START;
    for (size_t i = 0; i < count; i++)
        state = hash_word(state, words[i]);
    return hash_finish(state);
}

static void test_same_words_same_digest(void)
{
    const uint64_t words[] = {1, 2, 3};
    CU_ASSERT_EQUAL(digest(words, 3), digest(words, 3));
}

/* A digest stands in result files: it may not change from version to version. */
static void test_values_are_fixed(void)
{
    const uint64_t words[] = {1, 2, 3};
    CU_ASSERT_EQUAL(digest(words, 0), UINT64_C(0xecba3df2c3383c52));
    CU_ASSERT_EQUAL(digest(words, 3), UINT64_C(0x2c13ce8b566bc783));
}

static void test_order_and_number_count(void)
{
    const uint64_t words[] = {1, 2}, swapped[] = {2, 1}, zeros[] = {0, 0};
    CU_ASSERT_NOT_EQUAL(digest(words, 2), digest(swapped, 2));
    CU_ASSERT_NOT_EQUAL(digest(words, 1), digest(words, 2));
    CU_ASSERT_NOT_EQUAL(digest(zeros, 1), digest(zeros, 2));
    CU_ASSERT_NOT_EQUAL(digest(zeros, 0), digest(zeros, 1));
}

/* Each of the 64 bits of each of three words reaches the digest, all in different ways. */
static void test_every_bit_counts(void)
{
    uint64_t seen[192], words[3] = {0};
    for (unsigned i = 0; i < 192; i++) {
        words[i / 64] ^= UINT64_C(1) << i % 64;
        seen[i] = digest(words, 3);
        words[i / 64] = 0;
        for (unsigned j = 0; j < i; j++)
            CU_ASSERT_NOT_EQUAL(seen[i], seen[j]);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"same words, same digest", test_same_words_same_digest},
        {"values are fixed", test_values_are_fixed},
        {"order and number count", test_order_and_number_count},
        {"every bit counts", test_every_bit_counts},
        CU_TEST_INFO_NULL,
    };
    return check_run("support/hash", tests);
}
