/* Placement arithmetic against a deal of the tokens one by one. */
#include <stdlib.h>

#include "../check.h"
#include <ahbm/kit/placement.h>

static void check_deal(uint64_t context, uint32_t ranks, uint32_t start)
{
    uint64_t *held = calloc(ranks, sizeof *held);
    for (uint64_t token = 0; token < context; token++) {
        uint32_t rank = (uint32_t)((start + token) % ranks);
        CU_ASSERT_EQUAL(kit_placement_token(ranks, rank, start, held[rank]), token);
        held[rank]++;
    }
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        CU_ASSERT_EQUAL(kit_placement_tokens(context, ranks, rank, start), held[rank]);
        sum += kit_placement_tokens(context, ranks, rank, start);
    }
    CU_ASSERT_EQUAL(sum, context);
    free(held);
}

static void test_every_token_once(void)
{
    const uint64_t contexts[] = {1, 2, 7, 8, 63, 64, 65, 127, 997, 1024, 8191};
    const uint32_t ranks[] = {1, 2, 3, 4, 7, 8, 13, 32, 64};
    for (size_t c = 0; c < sizeof contexts / sizeof *contexts; c++)
        for (size_t n = 0; n < sizeof ranks / sizeof *ranks; n++)
            for (uint32_t start = 0; start < ranks[n]; start += 1 + ranks[n] / 5)
                check_deal(contexts[c], ranks[n], start);
}

static void test_long_contexts(void)
{
    uint64_t context = (UINT64_C(1) << 40) + 13, sum = 0;
    for (uint32_t rank = 0; rank < 64; rank++)
        sum += kit_placement_tokens(context, 64, rank, 63);
    CU_ASSERT_EQUAL(sum, context);
}

static struct tl_launch launch_of(bool cube_sp, bool pe_sp)
{
    return (struct tl_launch){.group_cubes = 8, .pes = 8, .cube_sp = cube_sp, .pe_sp = pe_sp};
}

static void test_ranks(void)
{
    static const struct {
        bool cube_sp, pe_sp;
        uint32_t ranks, rank_of_5_3;
    } cases[] = {
        {true, false, 8, 5}, {false, false, 1, 0}, {false, true, 8, 3}, {true, true, 64, 43}};
    for (int i = 0; i < 4; i++) {
        struct tl_launch launch = launch_of(cases[i].cube_sp, cases[i].pe_sp);
        CU_ASSERT_EQUAL(kit_placement_ranks(&launch), cases[i].ranks);
        CU_ASSERT_EQUAL(kit_placement_rank(&launch, 5, 3), cases[i].rank_of_5_3);
    }
}

/* design.md, section 5: request r of a batch runs on ... */
static bool runs(int number, uint32_t cube, uint32_t pe, uint32_t r)
{
    switch (number) {
    case 1:
        return pe == r % 8;
    case 2:
        return cube == r % 8 && pe == r / 8 % 8;
    case 3:
        return cube == r % 8;
    default:
        return true;
    }
}

static void test_batch(void)
{
    for (int number = 1; number <= 4; number++) {
        struct tl_launch launch = launch_of(number == 1 || number == 4, number >= 3);
        for (uint32_t r = 0; r < 200; r++)
            for (uint32_t i = 0; i < 64; i++)
                CU_ASSERT_EQUAL(kit_placement_pe_works(&launch, i / 8, i % 8, r),
                                runs(number, i / 8, i % 8, r));
    }
}

CHECK_MAIN("kernels/placement", CHECK_TEST(test_every_token_once), CHECK_TEST(test_long_contexts),
           CHECK_TEST(test_ranks), CHECK_TEST(test_batch))
