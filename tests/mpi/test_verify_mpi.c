/* Verified studies in one launch of 16 ranks: first on communicators of 16, 8, 4, 2 and 1 ranks,
 * which must agree in every bit of O, in the errors and in everything that a study without values
 * says; then the matrix of shapes, shared out over the ranks, inside tolerance. */
#include <math.h>

#include "verify_rig.h"

enum { RANKS = 16, CONTEXTS_MAX = 9, TEXT_BYTES = 16384 };

static int world_rank;
static char folder[64];

/* What is run. */
struct set {
    const char *machine[4];
    uint64_t contexts[CONTEXTS_MAX];
    uint32_t batch, cubes_per_group, tile;
    enum tl_form form;
    enum tl_gemm gemm;
    enum tl_reduce reduce;
    bool packed, redundant;
};

static struct study_options options_of(const struct set *set, bool verify, const char *path)
{
    struct study_options options = rig_options();
    options.verify = verify;
    options.batch = set->batch ? set->batch : 1;
    options.cubes_per_group = set->cubes_per_group ? set->cubes_per_group : 8;
    options.tile = set->tile;
    options.form = set->form;
    options.gemm = set->gemm;
    options.reduce_pe = options.reduce_cube = set->reduce;
    options.packed = set->packed;
    options.tp_redundant = set->redundant;
    options.output = path;
    options.contexts = memory_new(CONTEXTS_MAX, sizeof *options.contexts);
    for (; set->contexts[options.contexts_count] != 0; options.contexts_count++)
        options.contexts[options.contexts_count] = set->contexts[options.contexts_count];
    return options;
}

/* Runs a study on `comm`; the caller ends the report. */
static struct study_report run_study(MPI_Comm ranks, const struct set *set, bool verify)
{
    struct error err = {ERROR_NONE, ""};
    struct study_report report = {0};
    struct comm comm = comm_of(ranks);
    struct config *config = rig_machine(set->machine, 4);
    char path[128], *text = config_text(config);
    int first = world_rank;
    MPI_Bcast(&first, 1, MPI_INT, 0, ranks);
    snprintf(path, sizeof path, "%s/%d.h5", folder, first);
    struct study_options options = options_of(set, verify, path);
    RIG_CHECK(study_run(&comm, config_params(config), text, &options, &report, &err) == STUDY_DONE);
    if (err.code != ERROR_NONE)
        fprintf(stderr, "%s\n", err.text);
    MPI_Barrier(ranks);
    if (comm.rank == 0)
        unlink(path);
    memory_free(options.contexts);
    memory_free(text);
    config_free(config);
    return report;
}

/* ---- any number of ranks ---- */

static const struct set sets[] = {
    {.contexts = {7, 1021}},
    {.contexts = {1000},
     .batch = 3,
     .tile = 32,
     .reduce = TL_REDUCE_TREE,
     .packed = true,
     .form = TL_FORM_SOFTMAX_MERGE},
    {.contexts = {1000},
     .batch = 8,
     .gemm = TL_GEMM_DOT,
     .cubes_per_group = 4,
     .machine = {"model.query_heads=28", "model.kv_heads=4"}},
    {.contexts = {300},
     .batch = 2,
     .redundant = true,
     .reduce = TL_REDUCE_CENTRE,
     .machine = {"ipcq.slots=1", "ipcq.slot_bytes=512"}},
};

/* What may not depend on the number of ranks, nor on values being computed. */
static void append_times(char *text, const struct point_summary *point)
{
    size_t used = strlen(text);
    used += (size_t)snprintf(
        text + used, TEXT_BYTES - used,
        "case %u S %" PRIu64 " latency %" PRIu64 " digest %016" PRIx64 " events %" PRIu64 " counts",
        point->case_number, point->context, point->latency_ps, point->digest, point->events);
    for (int i = 0; i < COUNT_KINDS; i++)
        used +=
            (size_t)snprintf(text + used, TEXT_BYTES - used, " %" PRIu64, point->commands_total[i]);
}

static void append_values(char *text, const struct point_summary *point)
{
    size_t used = strlen(text);
    snprintf(text + used, TEXT_BYTES - used, " O %016" PRIx64 " rms %a max %a passed %d",
             point->output_digest, point->verify_rms_relative, point->verify_max_abs,
             point->verify_passed);
}

static void describe(const struct study_report *report, bool values, char text[TEXT_BYTES])
{
    text[0] = '\0';
    for (uint32_t i = 0; i < report->count; i++) {
        append_times(text, &report->points[i]);
        if (values)
            append_values(text, &report->points[i]);
        strcat(text, "\n");
    }
}

/* All ranks run together; then groups of 8, 4, 2 and 1, the last one without values too. */
static void check_set(const struct set *set, MPI_Comm part)
{
    static char wanted[TEXT_BYTES], times[TEXT_BYTES], got[TEXT_BYTES];
    struct study_report report = run_study(MPI_COMM_WORLD, set, true);
    RIG_CHECK(report.count > 0 && report.wrong == 0);
    describe(&report, true, wanted);
    describe(&report, false, times);
    study_report_fini(&report);
    if (part == MPI_COMM_NULL)
        return;
    int size;
    MPI_Comm_size(part, &size);
    report = run_study(part, set, true);
    describe(&report, true, got);
    study_report_fini(&report);
    RIG_CHECK(strcmp(wanted, got) == 0);
    if (size != 1)
        return;
    report = run_study(part, set, false);
    describe(&report, false, got);
    study_report_fini(&report);
    RIG_CHECK(strcmp(times, got) == 0);
}

static void check_ranks(void)
{
    int color = world_rank < 8 ? 0 : world_rank < 12 ? 1 : world_rank < 14 ? 2 : 3;
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == RANKS - 1 ? MPI_UNDEFINED : color, world_rank,
                   &part);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        check_set(&sets[i], part);
    if (part != MPI_COMM_NULL)
        MPI_Comm_free(&part);
}

/* ---- the matrix of shapes ---- */

static const struct {
    const char *query_heads, *kv_heads;
} ratios[] = {
    {"model.query_heads=64", "model.kv_heads=8"}, /* 8 */
    {"model.query_heads=28", "model.kv_heads=4"}, /* 7 */
    {"model.query_heads=8", "model.kv_heads=8"},  /* MHA */
    {"model.query_heads=32", "model.kv_heads=1"}, /* MQA */
};
static const uint32_t batches[] = {1, 3, 8};
static const uint64_t lists[][CONTEXTS_MAX] = {{1, 7, 63, 64, 65, 1000, 1021}, {8192}, {100000}};

enum { RATIOS = 4, BATCHES = 3, LISTS = 3, FORMS = 3 };

/* The form of a cell goes round, so that each meets every ratio. */
static struct set cell(uint32_t ratio, uint32_t batch, uint32_t list)
{
    static const struct set forms[FORMS] = {
        {.form = TL_FORM_AUTO},
        {.form = TL_FORM_SOFTMAX_MERGE, .reduce = TL_REDUCE_TREE, .packed = true},
        {.form = TL_FORM_TILED, .tile = 128, .gemm = TL_GEMM_DOT, .reduce = TL_REDUCE_CENTRE},
    };
    struct set set = forms[(ratio + batch + list) % FORMS];
    set.batch = batches[batch];
    set.machine[0] = RIG_ONE_GROUP;
    set.machine[1] = ratios[ratio].query_heads;
    set.machine[2] = ratios[ratio].kv_heads;
    memcpy(set.contexts, lists[list], sizeof set.contexts);
    return set;
}

/* Inside tolerance, and the copies of a reduction do not depend on the context, empty shards
 * included. */
static void check_cell(const struct set *set)
{
    struct study_report report = run_study(MPI_COMM_SELF, set, true);
    RIG_CHECK(report.count > 0 && report.wrong == 0);
    for (uint32_t i = 0; i < report.count; i++) {
        const struct point_summary *point = &report.points[i];
        RIG_CHECK(point->verified && point->verify_passed && point->verify_rms_relative < 3.5e-3);
        RIG_CHECK(point->commands[COUNT_IPCQ_COPY] ==
                  report.points[i % CASES].commands[COUNT_IPCQ_COPY]);
    }
    study_report_fini(&report);
}

/* The longest context takes as long as all others together: one request of a GQA only, and every
 * other cell of the middle one. With AHBM_LONG_TESTS in the environment an MHA too, and all. */
static bool wanted(uint32_t ratio, uint32_t batch, uint32_t list)
{
    bool is_long = getenv("AHBM_LONG_TESTS") != NULL;
    if (list == 2)
        return batch == 0 && (ratio == 0 || (is_long && ratio == 2));
    return list == 0 || is_long || (ratio + batch) % 2 == 0;
}

static void check_matrix(void)
{
    uint32_t number = 0;
    for (uint32_t list = LISTS; list-- > 0;) /* the long ones first */
        for (uint32_t batch = BATCHES; batch-- > 0;)
            for (uint32_t ratio = 0; ratio < RATIOS; ratio++) {
                struct set set = cell(ratio, batch, list);
                if (wanted(ratio, batch, list) && number++ % RANKS == (uint32_t)world_rank)
                    check_cell(&set);
            }
}

int main(int argc, char **argv)
{
    int world_size;
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
    results_start();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    snprintf(folder, sizeof folder, "/tmp/ahbm-verify-XXXXXX");
    if (world_size != RANKS || (world_rank == 0 && mkdtemp(folder) == NULL))
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Bcast(folder, sizeof folder, MPI_BYTE, 0, MPI_COMM_WORLD);
    double start = MPI_Wtime();
    check_ranks();
    double middle = MPI_Wtime();
    check_matrix();
    MPI_Allreduce(MPI_IN_PLACE, &rig_failures, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0) {
        rmdir(folder);
        printf("verified studies on 1 to 16 ranks in %.1f s, the matrix in %.1f s: %" PRIu64
               " failures\n",
               middle - start, MPI_Wtime() - middle, rig_failures);
    }
    MPI_Finalize();
    return rig_failures > 0;
}
