/* The decode kernel: counts at the study's default point, and values on small problems in every
 * case and form against a plain attention in double. */
#include "../check.h"
#include "group.h"
#include <ahbm/kit/homes.h>
#include <ahbm/kit/placement.h>
#include "kernels/registry.h"
#include "plain.h"

enum { MIB = 1 << 20 };

/* Case `number` at S = 8192, B = 1, G = 8, d = 128 on 8 CUBEs x 8 PEs. */
static struct tl_launch study_launch(int number)
{
    return (struct tl_launch){
        .group_cubes = 8,
        .cube_columns = 4,
        .cube_rows = 2,
        .pe_columns = 4,
        .pe_rows = 2,
        .pes = 8,
        .context = 8192,
        .batch = 1,
        .query_len = 1,
        .group_heads = 8,
        .head_dim = 128,
        .cube_sp = number == 1 || number == 4,
        .pe_sp = number >= 3,
        .tile = 1024,
        .q_base = 0,
        .q_stride = 2048,
        .o_base = MIB,
        .o_stride = 2048,
        .k_base = 2 * MIB,
        .v_base = 512 * MIB,
        .kv_stride = 4 * MIB,
    };
}

static struct group *run_counts(const struct tl_launch *launch)
{
    struct group *group =
        group_new(launch, kernel_find("decode")->run, 1024 * (uint64_t)MIB, false);
    group_run(group);
    if (group->error.code != ERROR_NONE)
        printf("\n  %s\n", group->error.text);
    CU_ASSERT_EQUAL(group->error.code, ERROR_NONE);
    CU_ASSERT_FALSE(group->stuck);
    CU_ASSERT_EQUAL(group->left, 0);
    return group;
}

static void check_counts(int number, uint64_t sends, uint64_t reads, uint64_t composites)
{
    struct tl_launch launch = study_launch(number);
    struct group *group = run_counts(&launch);
    CU_ASSERT_EQUAL(group_total(group, OP_SEND), sends);
    CU_ASSERT_EQUAL(group_total(group, OP_RECV), sends);
    CU_ASSERT_EQUAL(group_reads(group), reads);
    CU_ASSERT_EQUAL(group_total(group, OP_COMPOSITE), composites);
    CU_ASSERT_EQUAL(group_total(group, OP_STORE), 1);
    group_free(group);
}

static void test_counts_of_the_study(void)
{
    check_counts(1, 21, 8 * 3, 16);
    check_counts(2, 0, 1 + 8 * 2, 16);
    check_counts(3, 21, 8 * 3, 16);
    check_counts(4, 189, 192, 128);
}

/* N (N - 1) states over the PEs of 8 CUBEs, and over the CUBEs 8 times. */
static void test_counts_of_the_fanout(void)
{
    struct tl_launch launch = study_launch(4);
    struct group *group =
        group_new(&launch, kernel_find("decode-fanout")->run, 1024 * (uint64_t)MIB, false);
    group_run(group);
    CU_ASSERT_FALSE(group->stuck);
    CU_ASSERT_EQUAL(group_total(group, OP_SEND), 3 * (8 * 8 * 7 + 8 * 8 * 7));
    CU_ASSERT_EQUAL(group_total(group, OP_STORE), 64);
    group_free(group);
}

static void test_packed_counts(void)
{
    struct tl_launch launch = study_launch(4);
    launch.packed = true;
    struct group *group = run_counts(&launch);
    CU_ASSERT_EQUAL(group_total(group, OP_SEND), 63);
    CU_ASSERT_EQUAL(group_reads(group), 192);
    group_free(group);
}

/* The copies of case 4 do not depend on S, not even when most shards are empty. */
static void test_copies_do_not_depend_on_context(void)
{
    const uint64_t contexts[] = {1, 5, 63, 64, 65, 100003, 1 << 20};
    for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++) {
        struct tl_launch launch = study_launch(4);
        launch.context = contexts[i];
        struct group *group = run_counts(&launch);
        CU_ASSERT_EQUAL(group_total(group, OP_SEND), 189);
        uint64_t shards = contexts[i] < 64 ? contexts[i] : 64;
        uint64_t tiles = (contexts[i] / 64 + 1023) / 1024; /* per shard, for these */
        if (tiles <= 1)
            CU_ASSERT_EQUAL(group_reads(group), 64 + 2 * shards);
        group_free(group);
    }
}

static void check_high_water(const struct tl_launch *launch, uint64_t *most)
{
    struct group *group = run_counts(launch);
    *most = 0;
    for (uint32_t i = 0; i < group_size(group); i++) {
        uint64_t water = group->pes[i].program->scratch_high_water;
        *most = water > *most ? water : *most;
    }
    group_free(group);
}

/* Scratch fits at the default point in every form, and does not grow with the batch. */
static void test_scratch(void)
{
    for (int gemm = TL_GEMM_COMPOSITE; gemm <= TL_GEMM_DOT; gemm++) {
        struct tl_launch launch = study_launch(2);
        launch.gemm = (enum tl_gemm)gemm;
        uint64_t one, many;
        check_high_water(&launch, &one);
        launch.batch = 40;
        check_high_water(&launch, &many);
        CU_ASSERT_EQUAL(one, many);
        CU_ASSERT_TRUE(one < MIB);
    }
}

static void test_batch_runs_where_it_should(void)
{
    for (int number = 1; number <= 4; number++) {
        struct tl_launch launch = study_launch(number);
        launch.batch = 21;
        struct group *group = run_counts(&launch);
        for (uint32_t i = 0; i < 64; i++) {
            uint64_t requests = 0;
            for (uint32_t r = 0; r < launch.batch; r++)
                requests += kit_placement_pe_works(&launch, i / 8, i % 8, r);
            CU_ASSERT_EQUAL(group->pes[i].counts[OP_LOAD], requests);
        }
        CU_ASSERT_EQUAL(group_total(group, OP_STORE), launch.batch);
        group_free(group);
    }
}

/* Idle PEs of a working CUBE sweep as the worker does, and hand nothing on. */
static void test_redundant(void)
{
    for (int number = 1; number <= 2; number++) {
        struct tl_launch launch = study_launch(number);
        launch.tp_redundant = true;
        struct group *group = run_counts(&launch);
        uint64_t cubes = number == 1 ? 8 : 1;
        CU_ASSERT_EQUAL(group_total(group, OP_LOAD), 8 * cubes);
        CU_ASSERT_EQUAL(group_total(group, OP_COMPOSITE), 8 * 16);
        CU_ASSERT_EQUAL(group_total(group, OP_SEND), number == 1 ? 21 : 0);
        CU_ASSERT_EQUAL(group_total(group, OP_STORE), 1);
        group_free(group);
    }
}

static void check_error(const struct tl_launch *launch, const char *text)
{
    struct group *group =
        group_new(launch, kernel_find("decode")->run, 1024 * (uint64_t)MIB, false);
    group_run(group);
    CU_ASSERT_EQUAL(group->error.code, ERROR_FAILED);
    if (strstr(group->error.text, text) == NULL) {
        printf("\n  wanted: %s\n  got:    %s\n", text, group->error.text);
        CU_FAIL("text of the error");
    }
    group_free(group);
}

static void test_errors(void)
{
    struct tl_launch launch = study_launch(2);
    launch.form = TL_FORM_ONE_SHOT;
    check_error(&launch, "one-shot form takes one block of K, but 8192 tokens on this PE are 8 "
                         "blocks of 1024");
    launch.form = TL_FORM_SOFTMAX_MERGE;
    launch.gemm = TL_GEMM_DOT;
    check_error(&launch, "the softmax_merge form is made of composites");
    launch = study_launch(2);
    launch.phase = TL_PHASE_PREFILL;
    check_error(&launch, "this is a decode kernel");
    launch = study_launch(2);
    launch.tile = 0;
    check_error(&launch, "tile (0)");
    launch = study_launch(2);
    launch.group_heads = 4096;
    check_error(&launch, "scratch is full");
    launch = study_launch(2);
    launch.context = UINT64_C(1) << 32;
    check_error(&launch, "ends beyond the HBM share");
}

/* ---- values ---- */

static struct tl_launch small_launch(int number, uint64_t context, uint32_t batch)
{
    struct tl_launch launch = study_launch(number);
    launch.context = context;
    launch.batch = batch;
    launch.head_dim = DIM;
    launch.group_heads = 3;
    launch.query_len = 1;
    launch.tile = 8;
    launch.q_stride = launch.o_stride = 128;
    launch.o_base = 16 * 128;
    launch.k_base = 32 * 128;
    launch.kv_stride = (context + launch.tile) * DIM * 2;
    launch.v_base = launch.k_base + batch * launch.kv_stride;
    return launch;
}

/* The same striped over the shares, in stripes that meet no boundary of a tile. */
static struct tl_launch striped_launch(struct tl_launch launch)
{
    launch.kv_stack = true;
    launch.stripe_bytes = 88;
    kit_homes_choose(&launch, 8, launch.context + launch.tile);
    return launch;
}

static uint64_t small_share(const struct tl_launch *launch)
{
    return launch->kv_stack ? launch->s_base : launch->v_base + launch->batch * launch->kv_stride;
}

/* Where byte `at` of rank `i`'s K or V of request `r` lies. */
static uint8_t *kv_byte(struct group *group, uint32_t i, uint64_t base, uint32_t r, uint64_t at)
{
    const struct tl_launch *launch = &group->launch;
    if (!launch->kv_stack)
        return group->pes[i].memory.share + base + r * launch->kv_stride + at;
    uint64_t region = r * (uint64_t)launch->pes + i % launch->pes;
    return group_stack_byte(group, i / launch->pes, base + region * launch->kv_stride + at);
}

static void put_kv(struct group *group, uint32_t i, uint64_t base, uint32_t r, uint64_t element,
                   float value)
{
    uint8_t bytes[2];
    put_bf16(bytes, 0, value);
    for (uint64_t k = 0; k < 2; k++)
        *kv_byte(group, i, base, r, 2 * element + k) = bytes[k];
}

static void fill_shard(struct group *group, uint32_t i, uint32_t r)
{
    const struct tl_launch *launch = &group->launch;
    uint8_t *share = group->pes[i].memory.share;
    uint32_t rank = kit_placement_rank(launch, i / launch->pes, i % launch->pes);
    uint32_t ranks = kit_placement_ranks(launch), rows = launch->group_heads * launch->query_len;
    uint64_t tokens = kit_placement_tokens(tl_context(launch, r), ranks, rank, r % ranks);
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t d = 0; d < DIM; d++)
            put_bf16(share + launch->q_base + r * launch->q_stride, row * DIM + d,
                     query(r, row, d));
    for (uint64_t slot = 0; slot < tokens; slot++) {
        uint64_t token = kit_placement_token(ranks, rank, r % ranks, slot);
        uint64_t block = slot / launch->tile, at = slot % launch->tile;
        uint64_t width = tokens - block * launch->tile;
        width = width < launch->tile ? width : launch->tile;
        uint64_t first = block * launch->tile * DIM;
        for (uint32_t d = 0; d < DIM; d++) {
            put_kv(group, i, launch->k_base, r, first + d * width + at, sample(K, r, token, d));
            put_kv(group, i, launch->v_base, r, first + at * DIM + d, sample(V, r, token, d));
        }
    }
}

static void fill(struct group *group)
{
    const struct tl_launch *launch = &group->launch;
    for (uint32_t i = 0; i < group_size(group); i++)
        for (uint32_t r = 0; r < launch->batch; r++)
            fill_shard(group, i, r);
}

/* The PE on which the output of request `r` lies. */
static const struct group_pe *root_of(const struct group *group, uint32_t r)
{
    const struct tl_launch *launch = &group->launch;
    uint32_t cube = launch->cube_sp ? launch->group_cubes - 1 : r % launch->group_cubes;
    uint32_t pe = launch->pe_sp ? launch->pes - 1 : kit_placement_worker(launch, r);
    return group_pe(group, cube, pe);
}

static double error_on(const struct group *group, const struct group_pe *pe, uint32_t r)
{
    const struct tl_launch *launch = &group->launch;
    double worst = 0, wanted[DIM];
    for (uint32_t row = 0; row < launch->group_heads * launch->query_len; row++) {
        uint32_t position = row % launch->query_len;
        reference(r, row, tl_context(launch, r) - launch->query_len + position + 1, wanted);
        const uint8_t *out =
            pe->memory.share + launch->o_base + r * launch->o_stride + (uint64_t)row * DIM * 2;
        worst = fmax(worst, row_error(out, wanted));
    }
    return worst;
}

/* On the roots of the requests, or on every PE. */
static double error_of(const struct group *group, bool everywhere)
{
    double worst = 0;
    for (uint32_t r = 0; r < group->launch.batch; r++)
        if (everywhere)
            for (uint32_t i = 0; i < group_size(group); i++)
                worst = fmax(worst, error_on(group, &group->pes[i], r));
        else
            worst = fmax(worst, error_on(group, root_of(group, r), r));
    return worst;
}

static void check_kernel(const struct tl_launch *launch, const char *kernel, bool everywhere)
{
    struct group *group = group_new(launch, kernel_find(kernel)->run, small_share(launch), true);
    fill(group);
    group_run(group);
    if (group->error.code != ERROR_NONE)
        printf("\n  %s\n", group->error.text);
    CU_ASSERT_EQUAL(group->error.code, ERROR_NONE);
    CU_ASSERT_FALSE(group->stuck);
    CU_ASSERT_EQUAL(group->left, 0);
    double worst = error_of(group, everywhere);
    if (!(worst < 0.01))
        printf("\n  %s case %d%d S %llu form %d gemm %d packed %d: error %g\n", kernel,
               launch->cube_sp, launch->pe_sp, (unsigned long long)launch->context, launch->form,
               launch->gemm, launch->packed, worst);
    CU_ASSERT_TRUE(worst < 0.01);
    group_free(group);
}

static void check_values(const struct tl_launch *launch)
{
    check_kernel(launch, "decode", false);
}

/* Requests of different lengths, one after another and overlapping. */
static void test_values_of_lengths(void)
{
    static const uint64_t lengths[] = {131, 1, 64, 7, 130, 90, 8, 9, 2, 131, 50};
    for (int number = 1; number <= 4; number++)
        for (int gemm = 0; gemm < 2; gemm++)
            for (int equal = 0; equal < 2; equal++) {
                struct tl_launch launch = small_launch(number, 131, 11);
                launch.contexts = equal ? NULL : lengths;
                launch.gemm = (enum tl_gemm)gemm;
                launch.packed = equal;
                check_values(&launch);
                check_kernel(&launch, "decode-pipelined", false);
            }
}

static void test_values_of_collectives(void)
{
    for (uint64_t context = 3; context <= 203; context += 100)
        for (uint32_t cubes = 1; cubes <= 8; cubes += cubes == 1 ? 3 : 4) {
            struct tl_launch launch = small_launch(4, context, 2);
            launch.group_cubes = cubes;
            launch.cube_columns = cubes > 1 ? cubes / 2 : 1;
            launch.cube_rows = cubes > 1 ? 2 : 1;
            check_kernel(&launch, "decode-fanout", true);
            check_kernel(&launch, "reduce", false);
            check_kernel(&launch, "allreduce", true);
            check_kernel(&launch, "allreduce-ring", true);
            check_kernel(&launch, "allreduce-hierarchical", true);
        }
}

static void test_values(void)
{
    const uint64_t contexts[] = {1, 7, 8, 64, 131};
    for (int number = 1; number <= 4; number++)
        for (size_t c = 0; c < sizeof contexts / sizeof *contexts; c++)
            for (int packed = 0; packed <= 1; packed++) {
                struct tl_launch launch = small_launch(number, contexts[c], 1);
                launch.packed = packed;
                check_values(&launch);
            }
}

/* Every kernel that reads KV, with K and V striped. */
static void test_values_of_stripes(void)
{
    const uint64_t contexts[] = {1, 8, 64, 131};
    for (int number = 1; number <= 4; number++)
        for (size_t c = 0; c < sizeof contexts / sizeof *contexts; c++)
            for (int gemm = 0; gemm < 2; gemm++) {
                struct tl_launch launch = small_launch(number, contexts[c], number % 2 ? 3 : 9);
                launch.gemm = (enum tl_gemm)gemm;
                launch.tp_redundant = gemm;
                launch = striped_launch(launch);
                check_values(&launch);
                check_kernel(&launch, "decode-pipelined", false);
                if (number != 4)
                    continue;
                check_kernel(&launch, "decode-fanout", true);
                check_kernel(&launch, "allreduce-ring", true);
                launch.gemm = TL_GEMM_COMPOSITE;
                launch.form = TL_FORM_SOFTMAX_MERGE;
                check_values(&launch);
            }
}

static void test_values_of_forms(void)
{
    static const struct {
        enum tl_form form;
        enum tl_gemm gemm;
    } forms[] = {{TL_FORM_TILED, TL_GEMM_COMPOSITE},
                 {TL_FORM_TILED, TL_GEMM_DOT},
                 {TL_FORM_AUTO, TL_GEMM_DOT},
                 {TL_FORM_SOFTMAX_MERGE, TL_GEMM_COMPOSITE}};
    const uint64_t contexts[] = {3, 40, 64, 131};
    for (int number = 1; number <= 4; number++)
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++)
            for (size_t c = 0; c < sizeof contexts / sizeof *contexts; c++) {
                struct tl_launch launch = small_launch(number, contexts[c], 1);
                launch.form = forms[form].form;
                launch.gemm = forms[form].gemm;
                launch.packed = c % 2;
                check_values(&launch);
            }
}

static void test_values_of_shapes(void)
{
    for (int pe = 0; pe < 3; pe++)
        for (int cube = 0; cube < 3; cube++) {
            struct tl_launch launch = small_launch(4, 200, 1);
            launch.reduce_pe = (enum tl_reduce)pe;
            launch.reduce_cube = (enum tl_reduce)cube;
            check_values(&launch);
        }
}

static void test_values_of_batches(void)
{
    for (int number = 1; number <= 4; number++)
        for (int redundant = 0; redundant <= 1; redundant++) {
            struct tl_launch launch = small_launch(number, 77, 11);
            launch.tp_redundant = redundant;
            check_values(&launch);
        }
}

static void test_values_of_smaller_groups(void)
{
    for (int number = 1; number <= 4; number++)
        for (uint32_t cubes = 1; cubes <= 4; cubes *= 4) {
            struct tl_launch launch = small_launch(number, 133, 3);
            launch.group_cubes = cubes;
            launch.cube_columns = launch.cube_rows = cubes == 4 ? 2 : 1;
            launch.query_len = 1;
            check_values(&launch);
        }
}

/* Several new positions: each sees what is up to it. */
static void test_values_of_positions(void)
{
    for (int number = 1; number <= 4; number++)
        for (uint64_t context = 5; context <= 149; context += 36)
            for (int way = 0; way < 3; way++) {
                struct tl_launch launch = small_launch(number, context, 2);
                launch.query_len = 5;
                launch.q_stride = launch.o_stride = 512;
                launch.gemm = way == 1 ? TL_GEMM_DOT : TL_GEMM_COMPOSITE;
                launch.form = way == 2 ? TL_FORM_SOFTMAX_MERGE : TL_FORM_AUTO;
                check_values(&launch);
            }
}

CHECK_MAIN("kernels/decode", CHECK_TEST(test_values_of_positions),
           CHECK_TEST(test_values_of_lengths), CHECK_TEST(test_values_of_collectives),
           CHECK_TEST(test_counts_of_the_study), CHECK_TEST(test_counts_of_the_fanout),
           CHECK_TEST(test_packed_counts), CHECK_TEST(test_copies_do_not_depend_on_context),
           CHECK_TEST(test_scratch), CHECK_TEST(test_batch_runs_where_it_should),
           CHECK_TEST(test_redundant), CHECK_TEST(test_errors), CHECK_TEST(test_values),
           CHECK_TEST(test_values_of_stripes), CHECK_TEST(test_values_of_forms),
           CHECK_TEST(test_values_of_shapes), CHECK_TEST(test_values_of_batches),
           CHECK_TEST(test_values_of_smaller_groups))
