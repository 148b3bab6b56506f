/* The laws of every shipped kernel's layout, counted apart from it: what lies in a PE lies apart,
 * every token of K and V is there as often as there are copies, every query of Q, and O has a home.
 */
#include "../check.h"
#include "decode.h"
#include "kernels/registry.h"

enum { TOKENS_MAX = 700, BATCH_MAX = 9, ELEMENT = 2, COPIES_MAX = 8, MACHINE_PES = 8 };

struct counter {
    struct tl_visitor visitor;
    const struct tl_launch *launch;
    struct extent {
        uint64_t first, end;
    } * extents; /* of one PE */
    uint32_t count, room;
    struct extent *striped; /* of a CUBE */
    uint32_t striped_count, striped_room;
    uint64_t shares[MACHINE_PES]; /* bytes of each that are striped ... */
    uint64_t lowest, highest;     /* ... and their addresses */
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

static bool is_kv(const struct tl_region *region)
{
    return region->tensor == TL_TENSOR_K || region->tensor == TL_TENSOR_V;
}

/* Goes over a striped region unit by unit: what is in it, and what of all shares it takes. */
static void count_striped(struct counter *counter, const struct tl_region *region,
                          struct extent extent)
{
    uint64_t unit = counter->launch->stripe_bytes, pes = counter->launch->pes;
    uint64_t used = extent.first + region->rows * counter->launch->head_dim * ELEMENT;
    for (uint64_t at = extent.first, end; at < used; at = end) {
        end = (at / unit + 1) * unit;
        uint64_t stop = end < used ? end : used;
        counter->shares[at / unit % pes] += stop - at;
        counter->lowest =
            at / unit / pes * unit < counter->lowest ? at / unit / pes * unit : counter->lowest;
        counter->highest = at / unit / pes * unit + unit > counter->highest
                               ? at / unit / pes * unit + unit
                               : counter->highest;
    }
    if (counter->striped_count == counter->striped_room) {
        counter->striped_room = 2 * counter->striped_room + 16;
        counter->striped =
            memory_resize(counter->striped, counter->striped_room, sizeof *counter->striped);
    }
    counter->striped[counter->striped_count++] = extent;
}

static void count(struct tl_visitor *visitor, const struct tl_region *region)
{
    struct counter *counter = (struct counter *)visitor;
    if (counter->count == counter->room) {
        counter->room = 2 * counter->room + 16;
        counter->extents = memory_resize(counter->extents, counter->room, sizeof *counter->extents);
    }
    struct extent extent = {region->addr, region->addr + room_of(counter->launch, region)};
    if (region->stack)
        count_striped(counter, region, extent);
    else
        counter->extents[counter->count++] = extent;
    CU_ASSERT_EQUAL(region->stack, counter->launch->kv_stack && is_kv(region));
    count_rows(counter, region);
}

static int by_first(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static void check_apart(struct extent *extents, uint32_t count)
{
    bool apart = true;
    if (count > 0)
        qsort(extents, count, sizeof *extents, by_first);
    for (uint32_t i = 1; i < count; i++)
        apart = apart && extents[i - 1].end <= extents[i].first;
    CU_ASSERT_TRUE(apart);
}

/* What is striped over a CUBE lies apart in the stack, and in each share between what is not; every
 * share's footprint counts what of it lies there. */
static void check_stripes(struct counter *counter, const struct problem *problem, uint32_t cube)
{
    const struct tl_launch *launch = &problem->launch;
    uint64_t most = 0, least = UINT64_MAX, all = 0;
    check_apart(counter->striped, counter->striped_count);
    for (uint32_t system = 0, within; system < 16 && launch->kv_stack; system++) {
        if (problem_group(problem, system, &within) != 0 || within != cube)
            continue;
        for (uint32_t pe = 0; pe < launch->pes; pe++)
            CU_ASSERT_EQUAL(problem_footprint(problem, system, pe).kv_bytes, counter->shares[pe]);
    }
    for (uint32_t pe = 0; pe < launch->pes; pe++) {
        most = counter->shares[pe] > most ? counter->shares[pe] : most;
        least = counter->shares[pe] < least ? counter->shares[pe] : least;
        all += counter->shares[pe];
    }
    /* Each region is even but for a unit. */
    CU_ASSERT_TRUE(most - least <= counter->striped_count * launch->stripe_bytes);
    CU_ASSERT_EQUAL(all > 0, counter->striped_count > 0);
    for (uint32_t i = 0; i < counter->count && all > 0; i++)
        CU_ASSERT_TRUE(counter->extents[i].end <= counter->lowest ||
                       counter->extents[i].first >= counter->highest);
    CU_ASSERT_TRUE(all == 0 || counter->highest <= launch->s_base);
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
    for (uint32_t cube = 0; cube < problem->launch.group_cubes; cube++) {
        memset(counter->shares, 0, sizeof counter->shares);
        counter->striped_count = 0;
        counter->lowest = UINT64_MAX;
        counter->highest = 0;
        for (uint32_t pe = 0; pe < problem->launch.pes; pe++) {
            struct tl_launch launch = problem_launch(problem, 0, cube, pe);
            counter->count = 0;
            kernel_layout(problem->kernel, &launch, &counter->visitor);
            check_apart(counter->extents, counter->count);
        }
        check_stripes(counter, problem, cube);
    }
    check_counts(counter, problem);
    memory_free(counter->striped);
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
                    for (int stack = 0; stack < 2; stack++) {
                        options.kv_stack = stack;
                        problem_init(&problem, &params, &options, number, contexts[i]);
                        check_layout(&problem);
                    }
                }
}

CHECK_MAIN("study/layout", CHECK_TEST(test_laws))
