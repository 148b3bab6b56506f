/* The laws of every shipped kernel's layout, counted apart from it: what lies in a PE lies apart,
 * every token of K and V is there as often as there are copies, every query of Q, and O has a home.
 */
#include "../check.h"
#include "decode.h"
#include "kernels/registry.h"

enum { TOKENS_MAX = 700, BATCH_MAX = 9, ELEMENT = 2, COPIES_MAX = 8 };

struct counter {
    struct tl_visitor visitor;
    const struct tl_launch *launch;
    struct extent {
        uint64_t first, end;
    } * extents; /* of one PE */
    uint32_t count, room;
    uint64_t keys[64 * BATCH_MAX][TOKENS_MAX], values[64 * BATCH_MAX][TOKENS_MAX];
    uint64_t queries[64 * BATCH_MAX][64], outputs; /* rows by request and head; O */
};

/* As long as the room that it takes: a ragged last block of K has that of a whole one. */
static uint64_t room_of(const struct tl_launch *launch, const struct tl_region *region)
{
    uint64_t rows = region->rows;
    if (region->block > 0)
        rows = (rows + region->block - 1) / region->block * region->block;
    return rows * launch->head_dim * ELEMENT;
}

static void count_rows(struct counter *counter, const struct tl_region *region)
{
    for (uint64_t i = 0; i < region->rows; i++) {
        uint64_t token = region->token + i % region->rows_per_head * region->token_step;
        uint64_t head = region->head + i / region->rows_per_head * region->head_step;
        if (region->tensor == TL_TENSOR_O)
            counter->outputs++;
        else if (region->tensor == TL_TENSOR_Q)
            counter->queries[region->request][head]++;
        else
            (region->tensor == TL_TENSOR_K ? counter->keys
                                           : counter->values)[region->request][token]++;
    }
}

static void count(struct tl_visitor *visitor, const struct tl_region *region)
{
    struct counter *counter = (struct counter *)visitor;
    if (counter->count == counter->room) {
        counter->room = 2 * counter->room + 16;
        counter->extents = memory_resize(counter->extents, counter->room, sizeof *counter->extents);
    }
    counter->extents[counter->count++] =
        (struct extent){region->addr, region->addr + room_of(counter->launch, region)};
    count_rows(counter, region);
}

static int by_first(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static void check_apart(const struct counter *counter)
{
    bool apart = true;
    qsort(counter->extents, counter->count, sizeof *counter->extents, by_first);
    for (uint32_t i = 1; i < counter->count; i++)
        apart = apart && counter->extents[i - 1].end <= counter->extents[i].first;
    CU_ASSERT_TRUE(apart);
}

static void check_counts(const struct counter *counter, const struct problem *problem)
{
    const struct tl_launch *launch = &problem->launch;
    uint64_t copies = launch->cube_sp ? 1 : launch->group_cubes;
    bool every = true;
    for (uint32_t r = 0; r < launch->batch; r++) {
        for (uint64_t token = 0; token < launch->context; token++)
            every =
                every && counter->keys[r][token] == copies && counter->values[r][token] == copies;
        for (uint32_t head = 0; head < launch->group_heads; head++)
            every = every && counter->queries[r][head] >= launch->query_len;
    }
    CU_ASSERT_TRUE(every);
    CU_ASSERT_TRUE(counter->outputs >=
                   (uint64_t)launch->batch * launch->group_heads * launch->query_len);
}

static void check_layout(const struct problem *problem)
{
    struct counter *counter = memory_new(1, sizeof *counter);
    counter->visitor.visit = count;
    counter->launch = &problem->launch;
    for (uint32_t cube = 0; cube < problem->launch.group_cubes; cube++)
        for (uint32_t pe = 0; pe < problem->launch.pes; pe++) {
            struct tl_launch launch = problem_launch(problem, 0, cube, pe);
            counter->count = 0;
            kernel_layout(problem->kernel, &launch, &counter->visitor);
            check_apart(counter);
        }
    check_counts(counter, problem);
    memory_free(counter->extents);
    memory_free(counter);
}

static void test_laws(void)
{
    static const uint64_t contexts[] = {1, 64, 333, TOKENS_MAX};
    struct machine_params params = decode_machine(NULL);
    for (const struct tl_kernel_info *kernel = kernel_list(); kernel->name != NULL; kernel++)
        for (uint32_t number = 1; number <= CASES; number++)
            for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++)
                for (uint32_t batch = 1; batch <= BATCH_MAX; batch += 4) {
                    struct study_options options = decode_options();
                    struct problem problem;
                    options.kernel = kernel->name;
                    options.cubes_per_group = kernel->group_cubes;
                    options.batch = batch;
                    options.query_len = 0;
                    options.ring_depth = 2;
                    options.tile = i % 2 ? 0 : 48;
                    options.shards = (enum tl_shards)(number % 3);
                    problem_init(&problem, &params, &options, number, contexts[i]);
                    check_layout(&problem);
                }
}

CHECK_MAIN("study/layout", CHECK_TEST(test_laws))
