/* The shapes of a reduction on the grids of PEs and CUBEs, seen by a kernel that only reduces. */
#include "../check.h"
#include "group.h"
#include <ahbm/kit/reduce.h>
#include "kernels/registry.h"

static const enum tl_reduce shapes[] = {TL_REDUCE_CHAIN, TL_REDUCE_TREE, TL_REDUCE_CENTRE};

static struct tl_launch launch_of(struct grid pes, struct grid cubes, enum tl_reduce shape)
{
    return (struct tl_launch){
        .group_cubes = grid_size(cubes),
        .cube_columns = cubes.columns,
        .cube_rows = cubes.rows,
        .pe_columns = pes.columns,
        .pe_rows = pes.rows,
        .pes = grid_size(pes),
        .reduce_pe = shape,
        .reduce_cube = shape,
    };
}

/* Each PE brings m = its number, l = exp(-m), O = 1: all in all a sum over e^0 = 1. */
static void reduces(struct tl *tl, const struct tl_launch *launch)
{
    struct kit_state state = kit_state_new(tl, 2, 4, launch->packed);
    uint32_t number = launch->cube * launch->pes + launch->pe;
    tl_full_to(tl, state.m, (float)number);
    tl_full_to(tl, state.l, (float)number + 1);
    tl_full_to(tl, state.o, (float)(number * number));
    if (kit_reduce_to_root(tl, TL_AXIS_PE, launch->reduce_pe, &state) &&
        kit_reduce_to_root(tl, TL_AXIS_CUBE, launch->reduce_cube, &state)) {
        tl_store(tl, tl_ref(tl, launch->pe, 0, 2, 1, TL_F32), state.m);
        tl_store(tl, tl_ref(tl, launch->pe, 64, 2, 1, TL_F32), state.l);
        tl_store(tl, tl_ref(tl, launch->pe, 128, 2, 4, TL_F32), state.o);
    }
}

static float stored(const struct group *group, uint64_t addr)
{
    float value;
    const struct group_pe *root = &group->pes[group_size(group) - 1];
    memcpy(&value, root->memory.share + addr, sizeof value);
    return value;
}

static void check_values(const struct group *group)
{
    double l = 0, o = 0, m = group_size(group) - 1;
    for (uint32_t i = 0; i < group_size(group); i++) {
        l += (i + 1) * exp(i - m);
        o += (double)i * i * exp(i - m);
    }
    CU_ASSERT_EQUAL(stored(group, 0), (float)m);
    CU_ASSERT_DOUBLE_EQUAL(stored(group, 64), l, 1e-5 * l);
    CU_ASSERT_DOUBLE_EQUAL(stored(group, 128), o, 1e-5 * o);
}

static void check_reduction(struct grid pes, struct grid cubes, enum tl_reduce shape, bool packed)
{
    struct tl_launch launch = launch_of(pes, cubes, shape);
    launch.packed = packed;
    struct group *group = group_new(&launch, reduces, 4096, true);
    group_run(group); /* fails on a send to no neighbour */
    CU_ASSERT_EQUAL(group->error.code, ERROR_NONE);
    CU_ASSERT_FALSE(group->stuck);
    CU_ASSERT_EQUAL(group->left, 0);
    uint64_t merges = group_size(group) - 1;
    CU_ASSERT_EQUAL(group_total(group, OP_SEND), merges * (packed ? 1 : 3));
    CU_ASSERT_EQUAL(group_total(group, OP_RECV), merges * (packed ? 1 : 3));
    CU_ASSERT_EQUAL(group_total(group, OP_STORE), 3); /* exactly one root */
    if (group->error.code == ERROR_NONE && !group->stuck)
        check_values(group);
    group_free(group);
}

static void test_grids(void)
{
    const struct grid grids[] = {{4, 2}, {2, 2}, {1, 1}, {2, 1}, {4, 1}, {1, 2}};
    for (int shape = 0; shape < 3; shape++)
        for (int pes = 0; pes < 6; pes++)
            for (int cubes = 0; cubes < 6; cubes++) {
                if (shape == TL_REDUCE_TREE && (pes == 4 || cubes == 4))
                    continue; /* four in a row: see test_unfit */
                check_reduction(grids[pes], grids[cubes], shapes[shape], false);
                check_reduction(grids[pes], grids[cubes], shapes[shape], true);
            }
}

/* The nodes of the PE level, noted by a kernel run on PE 0 (a test may keep static data). */
static struct kit_reduce_node nodes[8];

static void notes_nodes(struct tl *tl, const struct tl_launch *launch)
{
    for (uint32_t i = 0; i < launch->pes; i++)
        nodes[i] = kit_reduce_node(tl, TL_AXIS_PE, launch->reduce_pe, i);
}

static void note(struct grid pes, enum tl_reduce shape)
{
    struct tl_launch launch = launch_of(pes, (struct grid){1, 1}, shape);
    struct group *group = group_new(&launch, notes_nodes, 4096, false);
    group_run(group);
    CU_ASSERT_EQUAL(group->error.code, ERROR_NONE);
    group_free(group);
}

static void check_parents(const uint32_t *parents, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(nodes[i].root, i == count - 1);
        CU_ASSERT_TRUE(i == count - 1 || nodes[i].parent == parents[i]);
        for (uint32_t child = 0; child < nodes[i].count; child++)
            CU_ASSERT_EQUAL(nodes[nodes[i].children[child]].parent, i);
    }
}

static void test_chain(void)
{
    note((struct grid){4, 2}, TL_REDUCE_CHAIN); /* 3 1 0 2 6 4 5 7 */
    check_parents((uint32_t[]){2, 0, 6, 1, 5, 7, 4, 0}, 8);
    note((struct grid){2, 2}, TL_REDUCE_CHAIN); /* 1 0 2 3 */
    check_parents((uint32_t[]){2, 0, 3, 0}, 4);
}

static void test_tree(void)
{
    note((struct grid){4, 2}, TL_REDUCE_TREE);
    check_parents((uint32_t[]){1, 3, 3, 7, 5, 7, 7, 0}, 8);
    CU_ASSERT_EQUAL_FATAL(nodes[7].count, 3);
    CU_ASSERT_TRUE(nodes[7].children[0] == 6 && nodes[7].children[1] == 5 &&
                   nodes[7].children[2] == 3);
    note((struct grid){2, 2}, TL_REDUCE_TREE);
    check_parents((uint32_t[]){1, 3, 3, 0}, 4);
}

static void test_centre(void)
{
    note((struct grid){4, 2}, TL_REDUCE_CENTRE);
    check_parents((uint32_t[]){2, 3, 6, 7, 6, 7, 7, 0}, 8);
    CU_ASSERT_EQUAL_FATAL(nodes[7].count, 3);
    CU_ASSERT_TRUE(nodes[7].children[0] == 5 && nodes[7].children[1] == 3 &&
                   nodes[7].children[2] == 6);
}

static void check_unfit(struct grid pes, enum tl_reduce shape, const char *text)
{
    struct tl_launch launch = launch_of(pes, (struct grid){1, 1}, shape);
    struct group *group = group_new(&launch, reduces, 4096, false);
    group_run(group);
    CU_ASSERT_EQUAL(group->error.code, ERROR_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(group->error.text, text));
    group_free(group);
}

static void test_unfit(void)
{
    check_unfit((struct grid){3, 2}, TL_REDUCE_TREE,
                "reduction tree does not fit the 3 x 2 grid of PEs");
    check_unfit((struct grid){4, 1}, TL_REDUCE_TREE,
                "reduction tree does not fit the 4 x 1 grid of PEs: a pair of it is not a pair of "
                "neighbours");
    check_unfit((struct grid){4, 4}, TL_REDUCE_CHAIN,
                "reduction chain does not fit the 4 x 4 grid of PEs: it needs one row or two");
}

static void test_registry(void)
{
    CU_ASSERT_PTR_NOT_NULL_FATAL(kernel_find("decode"));
    CU_ASSERT_STRING_EQUAL(kernel_find("decode")->name, "decode");
    CU_ASSERT_PTR_NULL(kernel_find("nothing"));
    CU_ASSERT_PTR_NOT_NULL(kernel_list()[0].run);
}

CHECK_MAIN("kernels/reduce", CHECK_TEST(test_grids), CHECK_TEST(test_chain), CHECK_TEST(test_tree),
           CHECK_TEST(test_centre), CHECK_TEST(test_unfit), CHECK_TEST(test_registry))
