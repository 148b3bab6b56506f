/* The prefill kernels: values of small problems in every case against a plain causal attention in
 * double, and counts against closed forms. */
#include "../check.h"
#include "group.h"
#include <ahbm/kit/homes.h>
#include "kernels/prefill/prefill_place.h"
#include "kernels/prefill/prefill_plan.h"
#include "kernels/registry.h"
#include "plain.h"

enum { MIB = 1 << 20 };

/* Case `number` of `queries` positions at the end of `context` tokens; 2 x 2 or 4 x 2 CUBEs. */
static struct tl_launch launch_of(int number, uint64_t context, uint32_t queries, uint32_t cubes)
{
    return (struct tl_launch){
        .group_cubes = cubes,
        .cube_columns = cubes > 1 ? cubes / 2 : 1,
        .cube_rows = cubes > 1 ? 2 : 1,
        .pe_columns = 4,
        .pe_rows = 2,
        .pes = 8,
        .phase = TL_PHASE_PREFILL,
        .context = context,
        .batch = 1,
        .query_len = queries,
        .group_heads = 3,
        .head_dim = DIM,
        .cube_sp = number == 1 || number == 4,
        .pe_sp = number >= 3,
        .tile = 8,
        .query_block = 5,
        .ring_depth = 2,
        .scratch_bytes = MIB,
    };
}

static uint64_t align(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Addresses; returns the bytes of a share. */
static uint64_t place(struct tl_launch *launch)
{
    uint64_t rows = (uint64_t)launch->group_heads * launch->query_len;
    launch->q_stride = launch->o_stride = align(rows * launch->head_dim * 2);
    launch->kv_stride = align(key_slots(launch) * launch->tile * launch->head_dim * 2);
    launch->o_base = launch->batch * launch->q_stride;
    launch->k_base = launch->o_base + launch->batch * launch->o_stride;
    launch->v_base = launch->k_base + launch->batch * launch->kv_stride;
    launch->s_base = launch->v_base + launch->batch * launch->kv_stride;
    if (launch->kv_stack)
        kit_homes_choose(launch, rows, key_slots(launch) * launch->tile);
    return launch->s_base + rows * (launch->head_dim + 2) * 4;
}

/* Row of the reference's query tensor. */
static uint32_t query_row(const struct tl_launch *launch, uint32_t head, uint64_t position)
{
    return (uint32_t)(head * launch->query_len + position);
}

/* An element of K or V of PE (cube, pe). */
static void put_kv(struct group *group, uint32_t cube, uint32_t pe, uint64_t base, uint32_t r,
                   uint64_t element, float value)
{
    const struct tl_launch *launch = &group->launch;
    uint8_t bytes[2];
    uint64_t region = launch->kv_stack ? r * (uint64_t)launch->pes + pe : r;
    uint64_t addr = base + region * launch->kv_stride + 2 * element;
    put_bf16(bytes, 0, value);
    for (uint64_t i = 0; i < 2; i++)
        *(launch->kv_stack ? group_stack_byte(group, cube, addr + i)
                           : group_pe(group, cube, pe)->memory.share + addr + i) = bytes[i];
}

static void fill_keys(struct group *group, uint32_t cube, uint32_t pe, uint32_t r)
{
    const struct tl_launch *launch = &group->launch;
    for (uint64_t slot = 0; slot < key_slots(launch); slot++) {
        struct key_tile tile = key_tile(launch, cube, pe, slot);
        uint64_t first = slot * launch->tile * DIM;
        for (uint32_t at = 0; at < tile.width; at++)
            for (uint32_t d = 0; d < DIM; d++) {
                put_kv(group, cube, pe, launch->k_base, r, first + d * tile.width + at,
                       sample(K, r, tile.first + at, d));
                put_kv(group, cube, pe, launch->v_base, r, first + at * DIM + d,
                       sample(V, r, tile.first + at, d));
            }
    }
}

/* What a visit of a PE's query rows is told: where the row lies in Q and O. */
typedef void row_visitor(uint8_t *share, const struct tl_launch *launch, uint32_t r, uint64_t at,
                         uint32_t head, uint64_t position, void *context);

static void visit_rows(struct group *group, uint32_t cube, uint32_t pe, uint32_t r,
                       row_visitor *visit, void *context)
{
    const struct tl_launch *launch = &group->launch;
    uint32_t heads = query_heads(launch, cube);
    for (uint64_t i = 0; heads > 0 && i < query_blocks(launch, pe); i++) {
        struct query_block block = query_block(launch, pe, i);
        for (uint32_t h = 0; h < heads; h++)
            for (uint32_t p = 0; p < block.count; p++)
                visit(group_pe(group, cube, pe)->memory.share, launch, r,
                      block.before * heads + h * block.count + p, h * launch->group_cubes + cube,
                      block.first + p, context);
    }
}

static void fill_row(uint8_t *share, const struct tl_launch *launch, uint32_t r, uint64_t at,
                     uint32_t head, uint64_t position, void *context)
{
    (void)context;
    for (uint32_t d = 0; d < DIM; d++)
        put_bf16(share + launch->q_base + r * launch->q_stride, at * DIM + d,
                 query(r, query_row(launch, head, position), d));
}

static void fill(struct group *group)
{
    const struct tl_launch *launch = &group->launch;
    for (uint32_t i = 0; i < group_size(group); i++)
        for (uint32_t r = 0; r < launch->batch; r++) {
            fill_keys(group, i / 8, i % 8, r);
            visit_rows(group, i / 8, i % 8, r, fill_row, NULL);
        }
}

struct verdict {
    double worst;
    uint64_t rows;
};

static void check_row(uint8_t *share, const struct tl_launch *launch, uint32_t r, uint64_t at,
                      uint32_t head, uint64_t position, void *context)
{
    struct verdict *verdict = context;
    double wanted[DIM];
    uint64_t seen = launch->context - launch->query_len + position + 1;
    reference(r, query_row(launch, head, position), seen, wanted);
    double error = row_error(share + launch->o_base + r * launch->o_stride + at * DIM * 2, wanted);
    verdict->worst = fmax(verdict->worst, error);
    verdict->rows++;
}

/* Every row of every head once: on the root of its CUBE, or on the PE that has the position. */
static struct verdict verdict_of(struct group *group)
{
    const struct tl_launch *launch = &group->launch;
    struct verdict verdict = {0, 0};
    for (uint32_t i = 0; i < group_size(group); i++)
        for (uint32_t r = 0; r < launch->batch; r++)
            if (!launch->pe_sp || i % 8 == 7)
                visit_rows(group, i / 8, i % 8, r, check_row, &verdict);
    return verdict;
}

static struct group *run(struct tl_launch *launch, const char *kernel, bool values)
{
    uint64_t bytes = place(launch);
    struct group *group = group_new(launch, kernel_find(kernel)->run, bytes, values);
    if (values)
        fill(group);
    group_run(group);
    if (group->error.code != ERROR_NONE)
        printf("\n  %s\n", group->error.text);
    CU_ASSERT_EQUAL(group->error.code, ERROR_NONE);
    CU_ASSERT_FALSE(group->stuck);
    CU_ASSERT_EQUAL(group->left, 0);
    return group;
}

static void check_values(struct tl_launch launch, const char *kernel)
{
    struct group *group = run(&launch, kernel, true);
    struct verdict verdict = verdict_of(group);
    CU_ASSERT_EQUAL(verdict.rows, (uint64_t)launch.batch * launch.group_heads * launch.query_len);
    if (!(verdict.worst < 0.02))
        printf("\n  %s cube_sp %d pe_sp %d S %llu T %u C %u shards %d depth %u: error %g\n", kernel,
               launch.cube_sp, launch.pe_sp, (unsigned long long)launch.context, launch.query_len,
               launch.group_cubes, launch.shards, launch.ring_depth, verdict.worst);
    CU_ASSERT_TRUE(verdict.worst < 0.02);
    group_free(group);
}

/* Not divisible by tile, PEs or CUBEs; fewer keys than ranks; blocks shorter than a tile. */
static void test_values(void)
{
    static const struct {
        uint64_t context;
        uint32_t queries;
    } sizes[] = {{1, 1}, {5, 5}, {37, 37}, {67, 67}, {131, 131}, {131, 20}, {97, 1}};
    for (int number = 1; number <= 4; number++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (uint32_t cubes = 1; cubes <= 8; cubes += cubes == 1 ? 3 : 4)
                check_values(launch_of(number, sizes[i].context, sizes[i].queries, cubes),
                             "prefill");
}

/* Every kernel that reads KV, with K and V striped. */
static void test_stripes(void)
{
    static const char *const kernels[] = {"prefill", "prefill-rotate", "prefill-fanout"};
    for (int number = 1; number <= 4; number++)
        for (uint32_t queries = 1; queries <= 67; queries += 33)
            for (int kernel = 0; kernel < (number == 4 ? 3 : 2); kernel++) {
                struct tl_launch launch = launch_of(number, 67, queries, 4);
                launch.kv_stack = true;
                launch.stripe_bytes = 88;
                launch.batch = 2;
                check_values(launch, kernels[kernel]);
            }
}

static void test_shards(void)
{
    for (int shards = 0; shards < 3; shards++)
        for (int number = 1; number <= 2; number++)
            for (uint32_t queries = 3; queries <= 131; queries += 64) {
                struct tl_launch launch = launch_of(number, 131, queries, 4);
                launch.shards = (enum tl_shards)shards;
                check_values(launch, "prefill");
            }
}

static void test_options(void)
{
    for (int number = 1; number <= 4; number += 3)
        for (uint32_t depth = 2; depth <= 5; depth++) {
            struct tl_launch launch = launch_of(number, 150, 60, 8);
            launch.ring_depth = depth;
            launch.packed = depth % 2;
            launch.reduce_pe = TL_REDUCE_TREE;
            launch.batch = depth % 3 + 1;
            check_values(launch, "prefill");
        }
    for (uint32_t heads = 1; heads <= 9; heads += 4) { /* CUBEs without a head; with two */
        struct tl_launch launch = launch_of(4, 90, 90, 8);
        launch.group_heads = heads;
        check_values(launch, "prefill");
        launch.cube_sp = false;
        check_values(launch, "prefill");
    }
}

/* So little scratch that most blocks pass through slots, or need a rotation of their own. */
static void test_spilling(void)
{
    for (int number = 1; number <= 4; number += 3)
        for (int rotate = 0; rotate < 2; rotate++) {
            struct tl_launch launch = launch_of(number, 300, 300, 4);
            launch.query_block = 8;
            for (launch.scratch_bytes = 8192;; launch.scratch_bytes += 512)
                if (prefill_ring_plan(&launch, rotate).fits)
                    break;
            CU_ASSERT_TRUE(prefill_ring_plan(&launch, rotate).resident < 2);
            check_values(launch, rotate ? "prefill-rotate" : "prefill");
        }
}

/* The baseline computes the whole square, masked. */
static void test_fanout(void)
{
    for (uint32_t queries = 1; queries <= 131; queries += 65)
        for (uint32_t cubes = 1; cubes <= 8; cubes += cubes == 1 ? 3 : 4) {
            struct tl_launch launch = launch_of(4, 131, queries, cubes);
            launch.ring_depth = 5;
            check_values(launch, "prefill-fanout");
        }
    struct tl_launch launch = launch_of(4, 300, 300, 4);
    launch.query_block = 8;
    launch.ring_depth = 5;
    launch.scratch_bytes = 24 * 1024;
    CU_ASSERT_TRUE(prefill_ring_plan(&launch, false).slots > 0);
    check_values(launch, "prefill-fanout");
}

static void test_one_pe(void)
{
    struct tl_launch launch = launch_of(2, 77, 77, 1);
    launch.one_pe = true;
    launch.batch = 2;
    struct group *group = run(&launch, "prefill-one-pe", true);
    for (uint32_t pe = 1; pe < 8; pe++)
        CU_ASSERT_EQUAL(group->pes[pe].counts[OP_COMPOSITE], 0);
    struct verdict verdict = verdict_of(group);
    CU_ASSERT_EQUAL(verdict.rows, 2 * 3 * 77);
    CU_ASSERT_TRUE(verdict.worst < 0.02);
    group_free(group);
}

/* ---- counts ---- */

/* Llama's group at S = T_q = 1024 in tiles of 32 and blocks of 64, nothing spilled. */
static struct tl_launch counted(int number)
{
    struct tl_launch launch = launch_of(number, 1024, 1024, 8);
    launch.group_heads = 8;
    launch.head_dim = 128;
    launch.tile = 32;
    launch.query_block = 64;
    launch.scratch_bytes = UINT64_C(1) << 40;
    return launch;
}

/* (query block, tile) pairs with something to see, of one head. */
static uint64_t lower_triangle(uint64_t context, uint64_t block, uint64_t tile)
{
    uint64_t pairs = 0;
    for (uint64_t b = 0; b < context / block; b++)
        pairs += ((b + 1) * block + tile - 1) / tile;
    return pairs;
}

static void check_counts(int number, uint64_t sends, uint64_t kv_reads)
{
    struct tl_launch launch = counted(number);
    struct group *group = run(&launch, "prefill", false);
    uint64_t pairs = 8 * lower_triangle(1024, 64, 32), blocks = 8 * 16;
    CU_ASSERT_EQUAL(group_total(group, OP_COMPOSITE), 2 * pairs);
    uint64_t masks = 0, q_reads = blocks * (launch.pe_sp ? 8 : 1);
    for (uint32_t i = 0; i < group_size(group); i++)
        masks += group->pes[i].math[MATH_CAUSAL_MASK];
    CU_ASSERT_EQUAL(masks, blocks * 2); /* the two tiles on a block's diagonal */
    CU_ASSERT_EQUAL(group_total(group, OP_SEND), sends);
    CU_ASSERT_EQUAL(group_total(group, OP_RECV) + group_total(group, OP_RECV_ASYNC), sends);
    CU_ASSERT_EQUAL(group_reads(group), q_reads + kv_reads);
    CU_ASSERT_EQUAL(group_total(group, OP_STORE), blocks);
    group_free(group);
}

/* 32 tiles of K and of V. Rings read each once; over the CUBEs each takes 7 hops; over the PEs of
 * each CUBE 7 more. Reductions over PEs: 7 merges of 3 tensors per block. */
static void test_counts(void)
{
    uint64_t tiles = 32, blocks = 8 * 16, pairs = 8 * lower_triangle(1024, 64, 32);
    check_counts(1, 2 * tiles * 7 + 2 * tiles * 8 * 7, 2 * tiles);
    check_counts(2, 0, 2 * pairs);
    check_counts(3, blocks * 7 * 3, 2 * pairs);
    check_counts(4, 2 * tiles * 7 + blocks * 7 * 3, 2 * tiles);
}

/* A spilled state is loaded with its Q, and stored, once per tile it sees; the first load is saved,
 * the end loads it once more. Whatever is spilled, nothing rotates twice. */
static void test_counts_of_spilling(void)
{
    struct tl_launch launch = counted(4);
    launch.scratch_bytes = 64 * 1024;
    while (!prefill_ring_plan(&launch, false).fits)
        launch.scratch_bytes += 4096;
    struct prefill_plan plan = prefill_ring_plan(&launch, false);
    CU_ASSERT_TRUE(plan.fits && plan.resident == 0 && plan.slots == 4);
    struct group *group = run(&launch, "prefill", false);
    uint64_t pairs = 8 * lower_triangle(1024, 64, 32);
    CU_ASSERT_EQUAL(group_total(group, OP_SEND), 2 * 32 * 7 + 8 * 16 * 7 * 3);
    CU_ASSERT_EQUAL(group_reads(group), 2 * 32 + pairs /* Q */ + pairs /* states */);
    CU_ASSERT_EQUAL(group_total(group, OP_STORE), pairs + 8 * 16);
    group_free(group);
}

/* Each rotation takes all tiles round again. */
static void test_counts_of_rotations(void)
{
    struct tl_launch launch = counted(4);
    launch.scratch_bytes = 512 * 1024;
    struct prefill_plan plan = prefill_ring_plan(&launch, true);
    uint64_t rotations = (16 + plan.resident - 1) / plan.resident;
    CU_ASSERT_TRUE(plan.fits && rotations > 1);
    struct group *group = run(&launch, "prefill-rotate", false);
    CU_ASSERT_EQUAL(group_total(group, OP_SEND), rotations * 2 * 32 * 7 + 8 * 16 * 7 * 3);
    CU_ASSERT_EQUAL(group_total(group, OP_STORE), 8 * 16);
    group_free(group);
}

/* What a launch chooses fits, at the study's sizes. */
static void test_choice(void)
{
    for (int number = 1; number <= 4; number++)
        for (uint64_t context = 512; context <= 32768; context *= 8) {
            struct tl_launch launch = launch_of(number, context, (uint32_t)context, 8);
            launch.group_heads = 8;
            launch.head_dim = 128;
            CU_ASSERT_TRUE(prefill_plan_choose(&launch, 128, false));
            struct group *group = run(&launch, "prefill", false);
            for (uint32_t i = 0; i < group_size(group); i++)
                CU_ASSERT_TRUE(group->pes[i].program->scratch_high_water <= MIB);
            group_free(group);
        }
}

/* ---- placement ---- */

/* Every position on one PE, or on all; addresses dense. */
static void check_queries(const struct tl_launch *launch)
{
    uint32_t *times = memory_new(launch->query_len, sizeof *times);
    for (uint32_t pe = 0; pe < launch->pes; pe++) {
        uint64_t before = 0;
        for (uint64_t i = 0; i < query_blocks(launch, pe); i++) {
            struct query_block block = query_block(launch, pe, i);
            CU_ASSERT_EQUAL(block.before, before);
            CU_ASSERT_TRUE(block.count > 0 && block.count <= launch->query_block);
            for (uint32_t p = 0; p < block.count; p++)
                times[block.first + p]++;
            before += block.count;
        }
        CU_ASSERT_EQUAL(query_positions(launch, pe), before);
    }
    for (uint32_t p = 0; p < launch->query_len; p++)
        CU_ASSERT_EQUAL(times[p], launch->pe_sp ? 8u : 1u);
    memory_free(times);
}

static void check_keys(const struct tl_launch *launch)
{
    uint32_t *times = memory_new(launch->context, sizeof *times);
    for (uint32_t i = 0; i < launch->group_cubes * launch->pes; i++) {
        uint64_t tokens = 0;
        for (uint64_t slot = 0; slot < key_slots(launch) + 1; slot++) {
            struct key_tile tile = key_tile(launch, i / 8, i % 8, slot);
            CU_ASSERT_TRUE(tile.width == 0 || slot < key_slots(launch));
            for (uint32_t at = 0; at < tile.width; at++)
                times[tile.first + at]++;
            tokens += tile.width;
        }
        CU_ASSERT_EQUAL(key_tokens(launch, i / 8, i % 8), tokens);
    }
    for (uint64_t token = 0; token < launch->context; token++)
        CU_ASSERT_EQUAL(times[token], launch->cube_sp ? 1u : launch->group_cubes);
    memory_free(times);
}

static void test_placement(void)
{
    for (int number = 1; number <= 4; number++)
        for (int shards = 0; shards < 3; shards++)
            for (uint32_t queries = 1; queries < 200; queries += 33) {
                struct tl_launch launch = launch_of(number, queries + 7, queries, 8);
                launch.shards = (enum tl_shards)shards;
                check_queries(&launch);
                check_keys(&launch);
            }
    struct tl_launch launch = launch_of(4, 100, 10, 8);
    for (uint32_t heads = 1; heads < 20; heads++) {
        uint32_t sum = 0;
        launch.group_heads = heads;
        for (uint32_t cube = 0; cube < 8; cube++)
            sum += query_heads(&launch, cube);
        CU_ASSERT_EQUAL(sum, heads);
    }
}

static void check_error(struct tl_launch launch, const char *kernel, const char *text)
{
    uint64_t bytes = place(&launch);
    struct group *group = group_new(&launch, kernel_find(kernel)->run, bytes, false);
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
    struct tl_launch launch = launch_of(4, 100, 100, 8);
    launch.phase = TL_PHASE_DECODE;
    check_error(launch, "prefill", "this is a prefill kernel");
    launch = launch_of(4, 100, 101, 8);
    check_error(launch, "prefill", "101 query positions at the end of a context of 100");
    launch = launch_of(4, 100, 100, 8);
    launch.gemm = TL_GEMM_DOT;
    check_error(launch, "prefill", "cannot use dots");
    launch = launch_of(4, 100, 100, 8);
    launch.form = TL_FORM_SOFTMAX_MERGE;
    check_error(launch, "prefill", "it has no other form");
    launch = launch_of(4, 100, 100, 8);
    launch.scratch_bytes = 9000;
    check_error(launch, "prefill", "do not fit into 9000 bytes of scratch");
    launch = launch_of(4, 100, 100, 8);
    launch.ring_depth = 1;
    check_error(launch, "prefill", "a ring of 1 buffers");
    launch = launch_of(2, 100, 100, 8);
    check_error(launch, "prefill-one-pe", "PE 0 of a group of one CUBE");
}

CHECK_MAIN("kernels/prefill", CHECK_TEST(test_values), CHECK_TEST(test_stripes),
           CHECK_TEST(test_shards), CHECK_TEST(test_options), CHECK_TEST(test_spilling),
           CHECK_TEST(test_one_pe), CHECK_TEST(test_fanout), CHECK_TEST(test_counts),
           CHECK_TEST(test_counts_of_spilling), CHECK_TEST(test_counts_of_rotations),
           CHECK_TEST(test_choice), CHECK_TEST(test_placement), CHECK_TEST(test_errors))
