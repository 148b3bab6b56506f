/* The verification plan of ADR-0060, section 11, points 1 to 8, over the decode kernels; point 4,
 * and more than one query position, over the test's own causal kernel. */
#include <math.h>

#include "faulty_kernel.h"
#include "tl/record.h"
#include "verify_rig.h"

/* Point 1: data mode completes in all cases, with every row of O stored once and right. */
static void test_1_completion_in_data_mode(void)
{
    for (uint32_t case_number = 1; case_number <= CASES; case_number++) {
        struct rig rig = rig_new(case_number, 8192);
        rig_run(&rig);
        RIG_CHECK(rig.verify.passed);
        RIG_CHECK(rig.verify.missing == 0 && rig.verify.repeated == 0);
        RIG_CHECK(rig.verify.rms_relative < 3e-3);
        rig_fini(&rig);
    }
}

static uint64_t useful_macs(const struct rig *rig)
{
    uint64_t macs = 0, pes = (uint64_t)rig->problem.groups * 8 * rig->problem.launch.pes;
    for (uint64_t i = 0; i < pes; i++)
        macs += rig->measurement.pes[i].sched.useful_macs;
    return macs;
}

/* Point 2: each K and V tile is read once whatever G is; the GEMMs' work grows with G. */
static void test_2_kv_reads_do_not_depend_on_g(void)
{
    static const struct {
        const char *query_heads;
        uint32_t g;
    } shapes[] = {{"model.query_heads=8", 1},
                  {"model.query_heads=56", 7},
                  {"model.query_heads=64", 8},
                  {"model.query_heads=256", 32}};
    uint64_t reads = 0, kv_bytes = 0;
    for (int i = 0; i < 4; i++) {
        struct rig rig = rig_new(4, 8192);
        rig.machine[1] = shapes[i].query_heads;
        rig_run(&rig);
        uint64_t q_bytes = 64 * UINT64_C(256) * shapes[i].g; /* a copy per PE */
        RIG_CHECK(rig.verify.passed);
        RIG_CHECK(useful_macs(&rig) == 2 * UINT64_C(8192) * 128 * shapes[i].g);
        if (i == 0) {
            reads = rig.summary.commands[COUNT_DMA_READ];
            kv_bytes = rig.summary.read_bytes - q_bytes;
        }
        RIG_CHECK(rig.summary.commands[COUNT_DMA_READ] == reads && reads == 192);
        RIG_CHECK(rig.summary.read_bytes - q_bytes == kv_bytes);
        RIG_CHECK(kv_bytes == 2 * UINT64_C(8192) * 256);
        rig_fini(&rig);
    }
}

/* The most states (m, l and O of G = 8 rows) that one PE took in. */
static uint64_t most_merges(const struct rig *rig)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < 8 * rig->problem.launch.pes; i++)
        most = time_max(most, rig->measurement.pes[i].ipcq.received_bytes);
    RIG_CHECK(most % (8 * (128 + 2) * sizeof(float)) == 0);
    return most / (8 * (128 + 2) * sizeof(float));
}

/* Point 3: a tree over N has log2 N rounds, which its root takes part in, and N - 1 merges of three
 * copies; the chain has N - 1 rounds of one each. */
static void test_3_rounds_of_the_reduction(void)
{
    static const uint64_t copies[] = {21, 0, 21, 189}, rounds[] = {3, 0, 3, 6};
    for (uint32_t number = 1; number <= CASES; number++) {
        struct rig tree = rig_new(number, 1000), chain = rig_new(number, 1000);
        tree.options.reduce_pe = tree.options.reduce_cube = TL_REDUCE_TREE;
        rig_run(&tree);
        rig_run(&chain);
        RIG_CHECK(tree.verify.passed && chain.verify.passed);
        RIG_CHECK(tree.summary.commands[COUNT_IPCQ_COPY] == copies[number - 1]);
        RIG_CHECK(chain.summary.commands[COUNT_IPCQ_COPY] == copies[number - 1]);
        RIG_CHECK(most_merges(&tree) == rounds[number - 1]);
        RIG_CHECK(most_merges(&chain) == (number == 4 ? 2 : number != 2));
        rig_fini(&tree);
        rig_fini(&chain);
    }
}

enum { BLOCK = 32, BLOCKS = 9 };

/* Query block `b` of a head on one PE: its own positions are the last of a context that ends there.
 */
static void causal_block(struct tl *tl, const struct tl_launch *launch, uint32_t b)
{
    struct tl_launch part = *launch;
    uint64_t offset = (uint64_t)b * BLOCK * launch->head_dim * 2;
    part.query_len = BLOCK;
    part.context = (b + UINT64_C(1)) * BLOCK;
    struct sweep sweep = {.tl = tl, .launch = &part, .key_step = 1};
    struct tl_tensor q = tl_load(
        tl, tl_ref(tl, launch->pe, launch->q_base + offset, BLOCK, launch->head_dim, TL_BF16));
    sweep.source = (struct kit_tile_source){.launch = &part,
                                            .pe = launch->pe,
                                            .k_addr = launch->k_base,
                                            .v_addr = launch->v_base,
                                            .tokens = launch->context,
                                            .q = q};
    sweep.state = kit_state_new(tl, BLOCK, launch->head_dim, false);
    for (int i = 0; i < 2; i++)
        sweep.p[i] = tl_empty(tl, BLOCK, launch->tile, TL_BF16);
    sweep_all(&sweep);
    tl_div_to(tl, sweep.state.o, sweep.state.o, sweep.state.l);
    tl_store(tl, tl_ref(tl, launch->pe, launch->o_base + offset, BLOCK, launch->head_dim, TL_BF16),
             tl_cast(tl, sweep.state.o, TL_BF16));
}

static void causal_kernel(struct tl *tl, const struct tl_launch *launch)
{
    for (uint32_t b = 0; b < BLOCKS; b++)
        if (kit_placement_pe_works(launch, launch->cube, launch->pe, 0)) {
            TL_SCRATCH_SCOPE(tl)
            {
                causal_block(tl, launch, b);
            }
        }
}

/* Point 4: of BLOCKS x BLOCKS tiles only the lower triangle is computed, two GEMMs each. */
static void test_4_causal_skip(void)
{
    static const struct tl_kernel_info entry = {.name = "causal", .run = causal_kernel};
    struct rig rig = rig_new(2, BLOCKS * BLOCK);
    rig.machine[1] = "model.query_heads=8";
    rig.options.query_len = BLOCKS * BLOCK;
    rig.options.tile = BLOCK;
    rig.kernel = &entry;
    rig_run(&rig);
    RIG_CHECK(rig.verify.passed);
    RIG_CHECK(rig.summary.commands[COUNT_GEMM] == 2 * BLOCKS * (BLOCKS + 1) / 2);
    rig_fini(&rig);
}

/* Point 5: scores that would not fit into scratch are swept in scopes, and are right. */
static void test_5_long_context(void)
{
    enum { CONTEXT = 100000, SCRATCH = 1 << 20 };
    struct rig rig = rig_new(2, CONTEXT);
    uint64_t most = 0;
    rig_run(&rig);
    for (uint32_t i = 0; i < 8 * rig.problem.launch.pes; i++)
        most = time_max(most, rig.measurement.pes[i].cpu.scratch_high_water_bytes);
    RIG_CHECK(rig.verify.passed);
    RIG_CHECK(most > 0 && most <= SCRATCH);
    RIG_CHECK(CONTEXT * 8 * sizeof(float) > SCRATCH); /* S alone, unscoped */
    rig_fini(&rig);
}

static const struct pe_result *worker(const struct rig *rig)
{
    const struct pe_result *busiest = rig_pe(rig, 0, 0);
    for (uint32_t i = 0; i < 8 * rig->problem.launch.pes; i++)
        if (rig->measurement.pes[i].sched.useful_macs > busiest->sched.useful_macs)
            busiest = &rig->measurement.pes[i];
    return busiest;
}

/* Point 6: load and compute overlap, with composites more than with dots. */
static void test_6_overlap(void)
{
    struct rig composite = rig_new(2, 8192), dot = rig_new(2, 8192);
    dot.options.gemm = TL_GEMM_DOT;
    rig_run(&composite);
    rig_run(&dot);
    const uint64_t *busy = worker(&composite)->busy_ps;
    uint64_t load = busy[ENGINE_DMA], compute = busy[ENGINE_GEMM] + busy[ENGINE_MATH];
    RIG_CHECK(composite.verify.passed && dot.verify.passed);
    RIG_CHECK(composite.summary.latency_ps < load + compute);
    RIG_CHECK(composite.summary.latency_ps >= time_max(load, compute));
    RIG_CHECK(load + compute - composite.summary.latency_ps > time_min(load, compute) / 2);
    rig_fini(&composite);
    rig_fini(&dot);
}

/* Where in the program of a PE the GEMMs of a tile are, and the first use of its scores. */
enum { TILES = 4, COMMANDS_MAX = 512 };

struct outline {
    uint32_t keys[TILES], values[TILES], used[TILES];
    uint64_t scores[TILES]; /* address */
    uint32_t keys_count, values_count, used_count, dots;
};

static void note(struct outline *outline, const struct command *command, uint32_t number)
{
    outline->dots += command->op == OP_DOT;
    if (command->op == OP_COMPOSITE && command->out.cols != 128) {
        outline->scores[outline->keys_count] = command->out.addr;
        outline->keys[outline->keys_count++] = number;
    } else if (command->op == OP_COMPOSITE) {
        outline->values[outline->values_count++] = number;
    } else if (command->op == OP_MATH && command->fn == MATH_MAX &&
               command->a.addr == outline->scores[outline->used_count]) {
        outline->used[outline->used_count++] = number;
    }
}

static struct outline read_program(const struct problem *problem)
{
    struct outline outline = {0};
    struct tl_program_config config = {
        .name = "decode",
        .kernel = problem->kernel->run,
        .launch = problem_launch(problem, 0, 0, 0),
        .geometry = &problem->params->geometry,
        .scratch_bytes = problem->params->scratch.bytes,
        .share_bytes = UINT64_MAX,
        .record_ahead = 16,
    };
    struct program *program = tl_program_new(&config);
    for (uint32_t number = 0; number < COMMANDS_MAX; number++) {
        const struct command *command = program->ops->next(program);
        if (command->op == OP_END || command->op == OP_FAIL)
            break;
        note(&outline, command, number);
    }
    program->ops->destroy(program);
    return outline;
}

/* Point 7: both GEMMs of a tile are composites, and the next tile's first one is issued before
 * anything waits for this tile's scores. */
static void test_7_composites_ahead_of_waits(void)
{
    struct study_options options = rig_options();
    const char *machine[] = {RIG_ONE_GROUP};
    struct config *config = rig_machine(machine, 1);
    struct problem problem;
    problem_init(&problem, config_params(config), &options, 2, TILES * UINT64_C(1024));
    struct outline outline = read_program(&problem);
    RIG_CHECK(outline.keys_count == TILES && outline.values_count == TILES);
    RIG_CHECK(outline.used_count == TILES && outline.dots == 0);
    for (uint32_t j = 0; j + 1 < TILES; j++) {
        RIG_CHECK(outline.keys[j + 1] < outline.used[j]);
        RIG_CHECK(outline.used[j] < outline.values[j]);
    }
    config_free(config);
}

/* Point 8: the same inputs give the same events, times and values; another seed other values alone.
 */
static void test_8_determinism(void)
{
    struct rig a = rig_new(4, 1021), b = rig_new(4, 1021), other = rig_new(4, 1021);
    other.options.seed = 2;
    rig_run(&a);
    rig_run(&b);
    rig_run(&other);
    RIG_CHECK(a.summary.digest == b.summary.digest);
    RIG_CHECK(a.summary.latency_ps == b.summary.latency_ps);
    RIG_CHECK(a.verify.digest == b.verify.digest);
    RIG_CHECK(memcmp(&a.verify.rms_relative, &b.verify.rms_relative, sizeof(double)) == 0);
    RIG_CHECK(other.summary.digest == a.summary.digest && other.verify.digest != a.verify.digest);
    rig_fini(&a);
    rig_fini(&b);
    rig_fini(&other);
}

/* Values change no time: the digest, the latency and the counts are those without them. */
static void test_values_change_no_time(void)
{
    for (uint32_t number = 1; number <= CASES; number++) {
        struct rig with = rig_new(number, 1021), without = rig_new(number, 1021);
        with.options.batch = without.options.batch = 3;
        without.without_values = true;
        rig_run(&with);
        rig_run(&without);
        RIG_CHECK(memcmp(&with.summary, &without.summary, sizeof with.summary) == 0);
        rig_fini(&with);
        rig_fini(&without);
    }
}

int main(int argc, char **argv)
{
    static const struct rig_test tests[] = {
        RIG_TEST(test_1_completion_in_data_mode),
        RIG_TEST(test_2_kv_reads_do_not_depend_on_g),
        RIG_TEST(test_3_rounds_of_the_reduction),
        RIG_TEST(test_4_causal_skip),
        RIG_TEST(test_5_long_context),
        RIG_TEST(test_6_overlap),
        RIG_TEST(test_7_composites_ahead_of_waits),
        RIG_TEST(test_8_determinism),
        RIG_TEST(test_values_change_no_time),
    };
    return rig_main(argc, argv, "verify/plan", tests, sizeof tests / sizeof tests[0]);
}
