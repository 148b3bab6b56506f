/* A point's problem: groups on the CUBEs, launch addresses, footprints, and what is refused. */
#include "../check.h"
#include "decode.h"
#include "study/kernel.h"
#include "study/plan.h"

enum { MIB = 1 << 20, BF16 = 2 };

static struct problem problem_of(const struct machine_params *params, uint32_t case_number,
                                 uint64_t context, uint32_t cubes, uint32_t batch)
{
    struct study_options options = decode_options();
    struct problem problem;
    options.cubes_per_group = cubes;
    options.batch = batch;
    problem_init(&problem, params, &options, case_number, context);
    return problem;
}

/* Every group has each of its C places once, in one SIP, as a rectangle; the rest is left over. */
static void check_tiling(const struct geometry *geometry, uint32_t cubes)
{
    struct machine_params params = decode_machine(NULL);
    params.geometry = *geometry;
    struct problem problem = problem_of(&params, 4, 8192, cubes, 1);
    uint32_t all = geometry_cubes(geometry), per_sip = grid_size(geometry->cubes), members = 0;
    uint64_t *seen = memory_new(problem.groups, sizeof *seen);
    uint32_t *sip = memory_new(problem.groups, sizeof *sip);
    for (uint32_t cube = 0; cube < all; cube++) {
        uint32_t within = UINT32_MAX, group = problem_group(&problem, cube, &within);
        if (group == NO_GROUP)
            continue;
        CU_ASSERT_FATAL(group < problem.groups && within < cubes);
        CU_ASSERT_EQUAL(seen[group] & (UINT64_C(1) << within), 0);
        CU_ASSERT_TRUE(seen[group] == 0 || sip[group] == cube / per_sip);
        seen[group] |= UINT64_C(1) << within;
        sip[group] = cube / per_sip;
        members++;
    }
    for (uint32_t group = 0; group < problem.groups; group++)
        CU_ASSERT_EQUAL(seen[group], (UINT64_C(1) << cubes) - 1);
    CU_ASSERT_EQUAL(members, problem.groups * cubes);
    memory_free(seen);
    memory_free(sip);
}

static void test_tiling(void)
{
    static const struct geometry machines[] = {
        {{1, 1}, {4, 4}, {4, 2}, false, false, false}, {{2, 2}, {4, 4}, {4, 2}, true, false, false},
        {{3, 1}, {5, 3}, {4, 2}, false, false, false}, {{1, 1}, {4, 2}, {4, 2}, false, false, false},
        {{1, 2}, {9, 7}, {2, 2}, false, false, false},
    };
    static const uint32_t groups[][3] = {
        {16, 4, 2}, {64, 16, 8}, {45, 6, 3}, {8, 2, 1}, {126, 24, 12}};
    static const uint32_t cubes[] = {1, 4, 8};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        for (int c = 0; c < 3; c++) {
            struct machine_params params = decode_machine(NULL);
            params.geometry = machines[i];
            check_tiling(&machines[i], cubes[c]);
            EQUAL(problem_of(&params, 1, 1, cubes[c], 1).groups, groups[i][c]);
        }
}

/* Neighbours by number within the group are neighbours in the SIP: what the kernels count on. */
static void test_group_neighbours(void)
{
    struct machine_params params = decode_machine(NULL);
    struct problem problem = problem_of(&params, 4, 8192, 8, 1);
    uint32_t of[2][8];
    for (uint32_t cube = 0; cube < 16; cube++) {
        uint32_t within, group = problem_group(&problem, cube, &within);
        of[group][within] = cube;
    }
    for (uint32_t group = 0; group < 2; group++)
        for (uint32_t i = 0; i < 8; i++)
            for (int d = 0; d < DIRECTIONS; d++) {
                struct position at = grid_position(problem.group, i);
                if (!grid_step(problem.group, &at, (enum direction)d, false))
                    continue;
                uint32_t other, next = grid_index(problem.group, at);
                CU_ASSERT_TRUE(
                    cube_neighbour(&params.geometry, of[group][i], (enum direction)d, &other));
                EQUAL(other, of[group][next]);
            }
}

/* ---- footprints ---- */

static uint64_t kv_of_cube(const struct problem *problem, uint32_t cube)
{
    uint64_t bytes = 0;
    for (uint32_t pe = 0; pe < problem->launch.pes; pe++)
        bytes += problem_footprint(problem, cube, pe).kv_bytes;
    return bytes;
}

static void test_footprints_of_the_report(void)
{
    static const uint64_t wanted[] = {MIB / 2, 4 * MIB, 4 * MIB, MIB / 2};
    struct machine_params params = decode_machine(NULL);
    for (uint32_t number = 1; number <= 4; number++) {
        struct problem problem = problem_of(&params, number, 8192, 8, 1);
        for (uint32_t cube = 0; cube < 16; cube++)
            EQUAL(kv_of_cube(&problem, cube), wanted[number - 1]);
    }
}

/* Split caches sum to one copy per group and request; a replica is a copy per CUBE. */
static void test_footprints_add_up(void)
{
    static const uint64_t contexts[] = {1, 7, 1000, 8192};
    struct machine_params params = decode_machine(NULL);
    for (uint32_t number = 1; number <= 4; number++)
        for (int i = 0; i < 4; i++)
            for (uint32_t batch = 1; batch <= 20; batch += 19) {
                struct problem problem = problem_of(&params, number, contexts[i], 8, batch);
                uint64_t sum = 0, one = batch * contexts[i] * 2 * 128 * BF16;
                for (uint32_t cube = 0; cube < 16; cube++) {
                    uint32_t within;
                    if (problem_group(&problem, cube, &within) == 0)
                        sum += kv_of_cube(&problem, cube);
                }
                EQUAL(sum, one * (number == 2 || number == 3 ? 8 : 1));
            }
}

/* The KV that the kernel reads is the KV that lies there, in the cases without replicas. */
static void test_footprint_is_read(void)
{
    struct machine_params params = decode_machine(NULL);
    struct study_options options = decode_options();
    for (uint32_t number = 1; number <= 4; number += 3) {
        struct decode decode;
        decode_run(&decode, &params, &options, number, 5000);
        for (uint32_t cube = 0; cube < 16; cube++)
            for (uint32_t pe = 0; pe < 8; pe++) {
                struct footprint f = problem_footprint(&decode.problem, cube, pe);
                EQUAL(rig_pe(&decode.rig, cube, pe).dma.read_bytes, f.kv_bytes + f.q_bytes);
            }
        decode_fini(&decode);
    }
}

static void test_left_over(void)
{
    struct machine_params params = decode_machine(NULL);
    params.geometry.cubes = (struct grid){5, 3};
    struct problem problem = problem_of(&params, 3, 8192, 8, 1);
    uint32_t within;
    EQUAL(problem_group(&problem, 4, &within), NO_GROUP);  /* the fifth column */
    EQUAL(problem_group(&problem, 10, &within), NO_GROUP); /* the third row */
    struct footprint footprint = problem_footprint(&problem, 4, 0);
    EQUAL(footprint.kv_bytes + footprint.q_bytes + footprint.o_bytes, 0);
}

/* ---- addresses ---- */

/* Regions of all requests lie apart, in the order Q, O, K, V, and each is large enough. */
static void check_addresses(const struct problem *problem)
{
    const struct tl_launch *l = &problem->launch;
    uint64_t q = (uint64_t)l->group_heads * l->query_len * l->head_dim * BF16;
    uint32_t ranks = kit_placement_ranks(l);
    uint64_t blocks = ((l->context + ranks - 1) / ranks + l->tile - 1) / l->tile;
    uint64_t kv = blocks * l->tile * l->head_dim * BF16;
    CU_ASSERT_TRUE(l->q_stride >= q && l->o_stride >= q && l->kv_stride >= kv);
    CU_ASSERT_TRUE(l->o_base >= l->q_base + l->batch * l->q_stride);
    CU_ASSERT_TRUE(l->k_base >= l->o_base + l->batch * l->o_stride);
    CU_ASSERT_TRUE(l->v_base >= l->k_base + l->batch * l->kv_stride);
    CU_ASSERT_EQUAL((l->q_stride | l->o_base | l->k_base | l->kv_stride | l->v_base) % 4096, 0);
}

static void test_addresses(void)
{
    static const uint64_t contexts[] = {1, 63, 1024, 1025, 100000, UINT64_C(1) << 36};
    struct machine_params params = decode_machine(NULL);
    for (uint32_t number = 1; number <= 4; number++)
        for (int i = 0; i < 6; i++)
            for (uint32_t batch = 1; batch <= 65536; batch *= 256) {
                struct problem problem = problem_of(&params, number, contexts[i], 8, batch);
                check_addresses(&problem);
            }
}

/* The launch of a PE differs from another's in where it is, only. */
static void test_launch(void)
{
    struct machine_params params = decode_machine(NULL);
    struct problem problem = problem_of(&params, 3, 8192, 4, 2);
    struct tl_launch launch = problem_launch(&problem, 3, 2, 5);
    EQUAL(launch.group, 3);
    EQUAL(launch.cube, 2);
    EQUAL(launch.pe, 5);
    EQUAL(launch.group_cubes, 4);
    EQUAL(launch.cube_columns, 2);
    EQUAL(launch.cube_rows, 2);
    EQUAL(launch.batch, 2);
    EQUAL(launch.group_heads, 8);
    CU_ASSERT_TRUE(!launch.cube_sp && launch.pe_sp);
    launch.group = launch.cube = launch.pe = 0;
    CU_ASSERT_EQUAL(memcmp(&launch, &problem.launch, sizeof launch), 0);
}

/* ---- what is refused ---- */

static void expect_refusal(const struct machine_params *params, const struct study_options *options,
                           const char *part)
{
    struct error err = {ERROR_NONE, ""};
    CU_ASSERT_FALSE(problem_check(params, options, &err));
    EQUAL(err.code, ERROR_USAGE);
    if (strstr(err.text, part) == NULL)
        fprintf(stderr, "\n  missing \"%s\" in: %s\n", part, err.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, part));
}

static void test_refusals(void)
{
    struct machine_params params = decode_machine(NULL);
    struct error err = {ERROR_NONE, ""};
    struct study_options options = decode_options();
    CU_ASSERT_TRUE(problem_check(&params, &options, &err));
    options.cubes_per_group = 2;
    expect_refusal(&params, &options,
                   "--cubes-per-group: 2 is not allowed (allowed: 1, 4, 8, and 16");
    options = decode_options();
    options.kernel = "decoder";
    expect_refusal(&params, &options, "there is no kernel 'decoder'");
    options = decode_options();
    uint64_t contexts[] = {8192, 100};
    options.contexts = contexts;
    options.contexts_count = 2;
    options.query_len = 101;
    expect_refusal(&params, &options, "--query-len: 101 positions at the end of a context of 100");
    options.query_len = 0;
    options.phase = "prefill";
    options.ring_depth = 2;
    CU_ASSERT_TRUE(problem_check(&params, &options, &err));
    options.kernel = "decode";
    expect_refusal(&params, &options, "--phase: kernel decode does decode, not prefill");
    options = decode_options();
    options.kernel = "decode-one-pe";
    options.cases_given = true;
    expect_refusal(&params, &options, "--case: kernel decode-one-pe has a placement of its own");
    options = decode_options();
    options.kernel = "decode-one-pe";
    options.cubes_per_group = 8;
    expect_refusal(&params, &options, "kernel decode-one-pe works on groups of 1");
    options = decode_options();
    options.cubes_per_group = 32;
    expect_refusal(&params, &options, "a group of 32 CUBEs would span SIPs");
    options = decode_options();
    options.message = 64;
    expect_refusal(&params, &options, "--message: kernel decode is no collective");
    options = decode_options();
    params.geometry.cubes = (struct grid){3, 3};
    expect_refusal(&params, &options,
                   "a group of 8 CUBEs is 4 x 2, but a SIP of this machine has "
                   "3 x 3 CUBEs");
}

/* ---- points ---- */

static void test_points(void)
{
    uint64_t contexts[] = {8192, 100, 7};
    struct study_options options = decode_options();
    options.cases[1] = false;
    options.contexts = contexts;
    options.contexts_count = 3;
    static const uint32_t cases[] = {1, 3, 4};
    EQUAL(plan_points(&options), 9);
    for (uint32_t i = 0; i < 9; i++) {
        struct plan_point at = plan_point(&options, i);
        EQUAL(at.case_number, cases[i % 3]);
        EQUAL(at.context, contexts[i / 3]);
    }
}

static void test_points_of_kernels(void)
{
    static const struct {
        const char *kernel;
        uint32_t case_number;
        uint64_t context;
    } wanted[] = {{"decode", 3, 64},
                  {"decode", 4, 64},
                  {"decode", 3, 7},
                  {"decode", 4, 7},
                  {"panel-single-prefill", 0, 64},
                  {"panel-single-prefill", 0, 7},
                  {"panel-single-decode", 0, 64},
                  {"panel-single-decode", 0, 7},
                  {"panel-multi-prefill", 0, 64},
                  {"panel-multi-prefill", 0, 7},
                  {"panel-multi-decode", 0, 64},
                  {"panel-multi-decode", 0, 7}};
    uint64_t contexts[] = {64, 7};
    struct machine_params params = decode_machine(NULL);
    struct error err = {ERROR_NONE, ""};
    struct study_options options = {.cases = {false, false, true, true},
                                    .cases_given = true,
                                    .contexts = contexts,
                                    .contexts_count = 2,
                                    .ring_depth = 2};
    CU_ASSERT_TRUE(kernel_names("decode,panels", &options, &err));
    CU_ASSERT_TRUE(plan_check(&params, &options, &err));
    EQUAL(plan_points(&options), 12);
    EQUAL(plan_groups(&params, &options), 16);
    for (uint32_t i = 0; i < 12; i++) {
        struct plan_point at = plan_point(&options, i);
        CU_ASSERT_STRING_EQUAL(at.options.kernel, wanted[i].kernel);
        EQUAL(at.case_number, wanted[i].case_number);
        EQUAL(at.context, wanted[i].context);
    }
    kernel_names_free(&options);
}

static void expect_list_refusal(const char *list, const char *part)
{
    uint64_t context = 64;
    struct machine_params params = decode_machine(NULL);
    struct error err = {ERROR_NONE, ""};
    struct study_options options = {.cases = {true},
                                    .cases_given = true,
                                    .contexts = &context,
                                    .contexts_count = 1,
                                    .ring_depth = 2};
    CU_ASSERT_FALSE(kernel_names(list, &options, &err) && plan_check(&params, &options, &err));
    EQUAL(err.code, ERROR_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, part));
    kernel_names_free(&options);
}

static void test_lists_refused(void)
{
    expect_list_refusal("decode,,prefill", "'decode,,prefill' has an empty name");
    expect_list_refusal("", "has an empty name");
    expect_list_refusal("decode,nothing", "kernel nothing of the list: --kernel: there is no");
    expect_list_refusal("panels", "kernel panel-single-prefill of the list: --case: kernel");
}

/* A ring that posts more receives than its queue accepts would wait for itself. */
static void test_ring_depth(void)
{
    struct machine_params params = decode_machine(NULL);
    struct error err = {ERROR_NONE, ""};
    uint64_t context = 500;
    struct study_options options = decode_options();
    options.phase = "prefill";
    options.contexts = &context;
    options.contexts_count = 1;
    for (int number = 1; number <= CASES; number++) {
        uint32_t most = (uint32_t)params.ipcq.queue_commands / 2 + (number == 1 ? 1 : 2);
        for (int i = 0; i < CASES; i++)
            options.cases[i] = i + 1 == number;
        options.ring_depth = most;
        CU_ASSERT_TRUE(problem_check(&params, &options, &err));
        options.ring_depth = most + 1;
        if (number == 2 || number == 3) {
            CU_ASSERT_TRUE(problem_check(&params, &options, &err));
        } else {
            expect_refusal(&params, &options, "receives on a queue pair before the first send");
        }
    }
}

CHECK_MAIN("study/problem", CHECK_TEST(test_tiling), CHECK_TEST(test_group_neighbours),
           CHECK_TEST(test_footprints_of_the_report), CHECK_TEST(test_footprints_add_up),
           CHECK_TEST(test_footprint_is_read), CHECK_TEST(test_left_over),
           CHECK_TEST(test_addresses), CHECK_TEST(test_launch), CHECK_TEST(test_refusals),
           CHECK_TEST(test_ring_depth), CHECK_TEST(test_points), CHECK_TEST(test_points_of_kernels),
           CHECK_TEST(test_lists_refused))
