/* Collectives of a message: sums on every PE, and counts against closed forms. Those of (m, l, O)
 * are in test_decode.c. */
#include "../check.h"
#include "group.h"
#include "kernels/registry.h"

static struct tl_launch launch_of(struct grid pes, struct grid cubes, uint64_t elements)
{
    return (struct tl_launch){
        .group_cubes = grid_size(cubes),
        .cube_columns = cubes.columns,
        .cube_rows = cubes.rows,
        .pe_columns = pes.columns,
        .pe_rows = pes.rows,
        .pes = grid_size(pes),
        .cube_sp = true,
        .pe_sp = true,
        .scratch_bytes = GROUP_SCRATCH,
        .message = 4 * elements,
        .o_base = 4 * elements,
    };
}

static float brought(uint32_t rank, uint64_t i)
{
    return (float)((rank + 1) * (i % 97 + 1));
}

static void fill(struct group *group)
{
    for (uint32_t rank = 0; rank < group_size(group); rank++)
        for (uint64_t i = 0; i < group->launch.message / 4; i++) {
            float value = brought(rank, i);
            memcpy(group->pes[rank].memory.share + 4 * i, &value, sizeof value);
        }
}

static bool has_sum(const struct group *group, uint32_t rank)
{
    uint32_t size = group_size(group);
    for (uint64_t i = 0; i < group->launch.message / 4; i++) {
        float value, wanted = (float)size * ((float)size + 1) / 2 * (float)(i % 97 + 1);
        memcpy(&value, group->pes[rank].memory.share + group->launch.o_base + 4 * i, sizeof value);
        if (value != wanted)
            return false;
    }
    return true;
}

static struct group *run(const struct tl_launch *launch, const char *kernel)
{
    struct group *group = group_new(launch, kernel_find(kernel)->run, 2 * launch->message, true);
    fill(group);
    group_run(group);
    if (group->error.code != ERROR_NONE)
        printf("\n  %s\n", group->error.text);
    CU_ASSERT_EQUAL(group->error.code, ERROR_NONE);
    CU_ASSERT_FALSE(group->stuck);
    CU_ASSERT_EQUAL(group->left, 0);
    return group;
}

static const char *const names[] = {"reduce", "allreduce", "allreduce-ring",
                                    "allreduce-hierarchical"};
static const struct grid grids[] = {{4, 2}, {2, 2}, {1, 1}};

static void check_sums(const struct tl_launch *launch, const char *name, uint32_t panels)
{
    struct group *group = run(launch, name);
    uint32_t size = group_size(group);
    bool all = strcmp(name, "reduce") != 0;
    for (uint32_t rank = all ? 0 : size - 1; rank < size; rank++)
        CU_ASSERT_TRUE(has_sum(group, rank));
    CU_ASSERT_EQUAL(group_total(group, OP_STORE), panels * (all ? size : 1));
    group_free(group);
}

/* Fewer elements than ranks, and numbers of them that are no multiples of anything. */
static void test_sums(void)
{
    const uint64_t sizes[] = {1, 8, 61, 1000};
    for (int name = 0; name < 4; name++)
        for (int pes = 0; pes < 3; pes++)
            for (int cubes = 0; cubes < 3; cubes++)
                for (int i = 0; i < 4; i++) {
                    struct tl_launch launch = launch_of(grids[pes], grids[cubes], sizes[i]);
                    check_sums(&launch, names[name], 1);
                }
}

static void test_shapes(void)
{
    for (int name = 0; name < 3; name++)
        for (int shape = 0; shape < 3; shape++) {
            struct tl_launch launch = launch_of(grids[0], grids[0], 50);
            launch.reduce_pe = launch.reduce_cube = (enum tl_reduce)shape;
            check_sums(&launch, names[name], 1);
        }
}

/* More than scratch holds: in panels of 960 elements, each complete. */
static void test_panels(void)
{
    for (int name = 0; name < 4; name++) {
        struct tl_launch launch = launch_of(grids[1], grids[1], 5000);
        launch.scratch_bytes = 16384;
        check_sums(&launch, names[name], 6);
    }
}

static uint64_t sends_of(const char *name, struct grid pes, struct grid cubes, uint64_t elements)
{
    struct tl_launch launch = launch_of(pes, cubes, elements);
    struct group *group = run(&launch, name);
    uint64_t sends = group_total(group, OP_SEND);
    group_free(group);
    return sends;
}

static void test_counts(void)
{
    const struct grid eight = {4, 2}, one = {1, 1};
    CU_ASSERT_EQUAL(sends_of("reduce", eight, eight, 640), 63);
    CU_ASSERT_EQUAL(sends_of("allreduce", eight, eight, 640), 2 * 63);
    CU_ASSERT_EQUAL(sends_of("allreduce-ring", one, eight, 640), 8 * 2 * 7);
    CU_ASSERT_EQUAL(sends_of("allreduce-ring", eight, eight, 640), 8 * 2 * 7 + 2 * 8 * 7);
    CU_ASSERT_EQUAL(sends_of("allreduce-hierarchical", eight, eight, 640), 64 * (2 * 7 + 2 * 7));
    CU_ASSERT_EQUAL(sends_of("allreduce-hierarchical", eight, eight, 8), 64 * 2 * 7 + 2 * 8 * 7);
}

static void test_errors(void)
{
    struct tl_launch launch = launch_of(grids[0], grids[0], 8);
    launch.message = 33;
    struct group *group = group_new(&launch, kernel_find("reduce")->run, 4096, false);
    group_run(group);
    CU_ASSERT_PTR_NOT_NULL(strstr(group->error.text, "a message of 33 bytes"));
    group_free(group);
    launch = launch_of((struct grid){3, 1}, grids[2], 8);
    group = group_new(&launch, kernel_find("allreduce-hierarchical")->run, 4096, false);
    group_run(group);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(group->error.text, "a grid of 3 x 1 PEs has no ring of neighbours"));
    group_free(group);
}

CHECK_MAIN("kernels/collective", CHECK_TEST(test_sums), CHECK_TEST(test_shapes),
           CHECK_TEST(test_panels), CHECK_TEST(test_counts), CHECK_TEST(test_errors))
