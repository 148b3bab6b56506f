/* What the shipped kernels say of their options is true: an option is looked at exactly when some
 * PE's program is another one with it. And what nothing looks at is refused. */
#include <string.h>

#include "../check.h"
#include "decode.h"
#include "kernels/registry.h"
#include "study/effect.h"

enum { CONTEXT = 1024, MESSAGE = 4096 };

static uint64_t lengths[] = {900, 77, 5, 600, 1, 2, 3, 4};
static uint64_t contexts[] = {CONTEXT};

/* A run with an option, and what else the launch then has. */
struct trial {
    struct study_options options;
    uint64_t context;
    bool lengths;
};

static struct trial plain(const struct tl_kernel_info *kernel, uint64_t message)
{
    struct trial trial = {.options = decode_options(), .context = CONTEXT};
    trial.options.kernel = kernel->name;
    trial.options.cubes_per_group = 0;
    trial.options.query_len = 0;
    trial.options.tile = 0;
    trial.options.batch = 0;
    trial.options.ring_depth = 2;
    trial.options.message = message;
    trial.options.contexts = contexts;
    trial.options.contexts_count = 1;
    return trial;
}

/* Another value of the option than plain() has. */
static void give(struct trial *trial, uint32_t option)
{
    struct study_options *options = &trial->options;
    options->given = option;
    trial->context -= option == TL_OPTION_CONTEXT ? 24 : 0;
    trial->lengths = option == TL_OPTION_REQUESTS;
    options->batch = option == TL_OPTION_BATCH ? 3 : 0;
    options->query_len = option == TL_OPTION_QUERY_LEN ? 2 : 0;
    options->tile = option == TL_OPTION_TILE ? 16 : 0;
    options->form = option == TL_OPTION_FORM ? TL_FORM_SOFTMAX_MERGE : TL_FORM_AUTO;
    options->gemm = option == TL_OPTION_GEMM ? TL_GEMM_DOT : TL_GEMM_COMPOSITE;
    options->packed = option == TL_OPTION_MLO;
    options->kv_stack = option == TL_OPTION_KV_LAYOUT;
    options->reduce_pe = option == TL_OPTION_REDUCE_PE ? TL_REDUCE_TREE : TL_REDUCE_CHAIN;
    options->reduce_cube = option == TL_OPTION_REDUCE_CUBE ? TL_REDUCE_TREE : TL_REDUCE_CHAIN;
    options->tp_redundant = option == TL_OPTION_TP_IDLE;
    options->shards = option == TL_OPTION_SHARDS ? TL_SHARDS_ZIGZAG : TL_SHARDS_CONTIGUOUS;
    options->ring_depth += option == TL_OPTION_RING_DEPTH;
    options->message *= option == TL_OPTION_MESSAGE ? 2 : 1;
}

static struct program *program_of(const struct machine_params *params, const struct trial *trial,
                                  uint32_t case_number, uint32_t cube, uint32_t pe)
{
    struct problem problem;
    problem_init(&problem, params, &trial->options, case_number, trial->context);
    uint32_t within, group = problem_group(&problem, cube, &within);
    struct tl_program_config config = {
        .name = problem.kernel->name,
        .kernel = problem.kernel->run,
        .launch = problem_launch(&problem, group, within, pe),
        .geometry = &params->geometry,
        .cube = cube,
        .scratch_bytes = params->scratch.bytes,
        .share_bytes = UINT64_MAX,
        .record_ahead = 1024,
    };
    if (trial->lengths)
        config.launch.contexts = lengths;
    return tl_program_new(&config);
}

static bool same(struct program *one, struct program *other)
{
    const struct command *a, *b;
    do {
        a = one->ops->next(one);
        b = other->ops->next(other);
    } while (memcmp(a, b, sizeof *a) == 0 && a->op != OP_END && a->op != OP_FAIL);
    return a->op == OP_END && b->op == OP_END;
}

static bool all_same(const struct machine_params *params, const struct trial *one,
                     const struct trial *other, uint32_t case_number)
{
    bool equal = true;
    uint32_t pes = grid_size(params->geometry.pes), cubes = geometry_cubes(&params->geometry);
    for (uint32_t i = 0; equal && i < cubes * pes; i++) {
        struct program *a = program_of(params, one, case_number, i / pes, i % pes);
        struct program *b = program_of(params, other, case_number, i / pes, i % pes);
        equal = same(a, b);
        a->ops->destroy(a);
        b->ops->destroy(b);
    }
    return equal;
}

static void check_option(const struct machine_params *params, const struct tl_kernel_info *kernel,
                         uint64_t message, uint32_t case_number, uint32_t option)
{
    struct trial base = plain(kernel, message), other = base;
    struct problem problem;
    give(&other, option);
    problem_init(&problem, params, &base.options, case_number, CONTEXT);
    bool says = kernel->options(&problem.launch) & option;
    bool differs = !all_same(params, &base, &other, case_number);
    if (says != differs)
        fprintf(stderr, "\n  kernel %s, case %u, message %u, option bit %x: says %d, does %d\n",
                kernel->name, case_number, (unsigned)message, option, says, differs);
    CU_ASSERT_EQUAL(says, differs);
}

static void check_kernel(const char *machine, const struct tl_kernel_info *kernel, uint64_t message)
{
    struct machine_params params = decode_machine(machine);
    uint32_t cases = kernel->placement == TL_PLACE_BY_CASE ? CASES : 1;
    uint32_t last = message > 0 ? TL_OPTION_MESSAGE : TL_OPTION_RING_DEPTH;
    CU_ASSERT_PTR_NOT_NULL_FATAL(kernel->options);
    for (uint32_t number = 1; number <= cases; number++)
        for (uint32_t option = 1; option <= last; option <<= 1)
            check_option(&params, kernel, message, number, option);
}

static void test_kernels(void)
{
    for (const struct tl_kernel_info *kernel = kernel_list(); kernel->name != NULL; kernel++) {
        check_kernel("topology.cubes_y=2", kernel, 0);
        if (kernel->collective)
            check_kernel("topology.cubes_y=2", kernel, MESSAGE);
    }
}

/* With one PE in a CUBE there is less to look at. */
static void test_one_pe(void)
{
    static const char *const names[] = {"decode", "allreduce-ring", "reduce"};
    for (int i = 0; i < 3; i++) {
        struct trial base = plain(kernel_find(names[i]), 0);
        struct machine_params params = decode_machine("topology.pes_x=1");
        params.geometry.pes.rows = 1;
        struct problem problem;
        problem_init(&problem, &params, &base.options, 4, CONTEXT);
        uint32_t seen = problem.kernel->options(&problem.launch);
        CU_ASSERT_EQUAL(seen & (TL_OPTION_REDUCE_PE | TL_OPTION_TP_IDLE), 0);
    }
}

/* ---- refusals ---- */

static void expect(char *kernels[], uint32_t count, const bool cases[CASES], uint32_t given,
                   const char *wanted)
{
    struct machine_params params = decode_machine(NULL);
    struct trial trial = plain(kernel_find(kernels[0]), 0);
    struct error err = {ERROR_NONE, ""};
    trial.options.kernels = kernels;
    trial.options.kernels_count = count;
    memcpy(trial.options.cases, cases, sizeof trial.options.cases);
    trial.options.given = given;
    CU_ASSERT_EQUAL(effect_check(&params, &trial.options, &err), wanted == NULL);
    CU_ASSERT_EQUAL(err.code, wanted == NULL ? ERROR_NONE : ERROR_USAGE);
    if (wanted != NULL && strstr(err.text, wanted) == NULL)
        fprintf(stderr, "\n  says: %s\n", err.text);
    CU_ASSERT_TRUE(wanted == NULL || strstr(err.text, wanted) != NULL);
}

static void test_refusals(void)
{
    char decode[] = "decode", prefill[] = "prefill", panel[] = "panel-single-decode";
    char *kernels[] = {decode, prefill, panel}, *last[] = {panel};
    static const bool all[CASES] = {true, true, true, true}, second[CASES] = {false, true},
                      outer[CASES] = {true, false, false, true};
    expect(kernels, 1, all, 0, NULL);
    expect(kernels, 1, all, TL_OPTION_REDUCE_PE | TL_OPTION_TILE | TL_OPTION_TP_IDLE, NULL);
    expect(kernels, 1, all, TL_OPTION_TILE | TL_OPTION_SHARDS,
           "--shards: would change nothing, because nothing that is to run looks at it (kernel "
           "decode in case 1, 2, 3, 4)");
    expect(kernels, 3, all, TL_OPTION_SHARDS | TL_OPTION_TP_IDLE | TL_OPTION_RING_DEPTH, NULL);
    expect(kernels, 2, second, TL_OPTION_SHARDS, NULL);
    expect(kernels, 2, second, TL_OPTION_MLO,
           "--mlo: would change nothing, because nothing that is to run looks at it (kernel decode "
           "in case 2; kernel prefill in case 2)");
    expect(kernels, 1, outer, TL_OPTION_RING_DEPTH, "(kernel decode in case 1, 4)");
    expect(last, 1, all, TL_OPTION_REDUCE_CUBE, "--reduce-cube: would change nothing");
    expect(last, 1, all, TL_OPTION_REDUCE_PE, NULL);
}

CHECK_MAIN("study/effect", CHECK_TEST(test_kernels), CHECK_TEST(test_one_pe),
           CHECK_TEST(test_refusals))
