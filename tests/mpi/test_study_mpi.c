/* Whole studies on communicators of 1, 2, 3, 5, 8 and 16 ranks of one launch: for every number of
 * ranks, every bound of recording ahead and every repetition the points are the same, and so are
 * the files, byte for byte of meaning (h5diff). With AHBM_LONG_TESTS in the environment every set
 * is run on all these; else on one and two ranks, and by turns on 16, or on 8, 5 and 3. */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "study/plan.h"
#include "study/study.h"
#include "support/memory.h"

enum { RANKS = 16, TEXT_BYTES = 32 * 1024 };

static const uint64_t contexts[] = {7, 8192, 1, 1000, 20000};
enum { CONTEXTS = sizeof contexts / sizeof *contexts, CONTEXTS_OF_MOST = 2 };

/* Whose files are compared: then all contexts and all bounds of recording ahead are run, the
 * largest communicator twice; else only the first contexts. */
enum files { FILES_NEVER, FILES_LONG, FILES_ALWAYS };

/* What is asked for; everything else is the default. */
struct set {
    const char *name;
    enum tl_reduce reduce_pe, reduce_cube;
    enum tl_gemm gemm;
    enum tl_form form;
    bool packed, redundant;
    enum files files;
    uint32_t batch, cubes_per_group, tile;
    const char *machine[4]; /* assignments */
};

static const struct set sets[] = {
    {.name = "the default", .files = FILES_ALWAYS},
    {.name = "trees, packed",
     .reduce_pe = TL_REDUCE_TREE,
     .reduce_cube = TL_REDUCE_TREE,
     .packed = true,
     .files = FILES_LONG},
    {.name = "centre", .reduce_pe = TL_REDUCE_CENTRE, .reduce_cube = TL_REDUCE_CENTRE},
    {.name = "dot", .gemm = TL_GEMM_DOT, .reduce_pe = TL_REDUCE_TREE},
    {.name = "softmax_merge", .form = TL_FORM_SOFTMAX_MERGE, .reduce_cube = TL_REDUCE_CENTRE},
    {.name = "batch of 3", .batch = 3},
    {.name = "batch of 3, redundant", .batch = 3, .redundant = true},
    {.name = "C = 1", .cubes_per_group = 1},
    {.name = "C = 4, trees, packed",
     .cubes_per_group = 4,
     .reduce_pe = TL_REDUCE_TREE,
     .reduce_cube = TL_REDUCE_TREE,
     .packed = true},
    {.name = "C = 4, dot, batch of 3",
     .cubes_per_group = 4,
     .gemm = TL_GEMM_DOT,
     .batch = 3,
     .redundant = true},
    {.name = "small tiles", .tile = 96, .form = TL_FORM_TILED},
    {.name = "one small slot",
     .machine = {"ipcq.slots=1", "ipcq.slot_bytes=512", "cube_link.bandwidth_gbps=3.7"}},
    {.name = "torus, odd rates",
     .machine = {"topology.cube_network=torus", "hbm.bandwidth_gbps=1179.3", "math.clock_ghz=0.9"},
     .batch = 2},
    {.name = "two SIPs, left-over CUBEs",
     .cubes_per_group = 4,
     .machine = {"topology.sips_x=2", "topology.cubes_x=3", "topology.cubes_y=3"}},
    {.name = "no issue cost, no start-up",
     .machine = {"cpu.issue_composite_ns=0", "cpu.issue_math_ns=0", "math.startup_ns=0",
                 "cube_link.latency_ns=0.001"}},
};

enum { SETS = sizeof sets / sizeof *sets };

/* How a process takes part: the size of its communicator in each phase, by rank. A communicator is
 * a run of neighbouring ranks. In the last phase ranks alone try bounds of recording ahead. */
enum { PHASES = 4 };
enum { LITTLE = 2, ALONE = 1, ALONE_RANK = 2 }; /* the phase, part and rank of one rank */
static const uint32_t sizes[PHASES][8] = {{16}, {8, 5, 3}, {2, 1, 1, 1, 1, 1, 1, 1}, {16}};
static const uint32_t ahead[PHASES][8] = {
    {64}, {64, 7, 1}, {256, 64, 1, 2, 7, 256, UINT32_MAX, 3}, {2}};

struct part {
    MPI_Comm comm; /* MPI_COMM_NULL: idle */
    uint32_t number, size, ahead;
};

static uint64_t failures;
static bool is_long;
static int world_rank;
static char folder[64];

static void fail(const char *what, const char *set, const struct part *part, const char *detail)
{
    failures++;
    fprintf(stderr, "%s: set \"%s\", %u ranks, record ahead %u: %s\n", what, set, part->size,
            part->ahead, detail);
}

static struct part take_part(uint32_t phase)
{
    struct part part = {.comm = MPI_COMM_NULL};
    uint32_t first = 0;
    for (uint32_t i = 0; i < 8 && sizes[phase][i] != 0; i++) {
        if ((uint32_t)world_rank >= first && (uint32_t)world_rank < first + sizes[phase][i])
            part = (struct part){MPI_COMM_NULL, i, sizes[phase][i], ahead[phase][i]};
        first += sizes[phase][i];
    }
    bool idle = part.size == 0;
    MPI_Comm_split(MPI_COMM_WORLD, idle ? MPI_UNDEFINED : (int)part.number, world_rank, &part.comm);
    return part;
}

static bool with_files(const struct set *set)
{
    return set->files == FILES_ALWAYS || (set->files == FILES_LONG && is_long);
}

static void file_name(char *path, size_t bytes, uint32_t set, uint32_t phase, uint32_t number)
{
    snprintf(path, bytes, "%s/set%u-phase%u-part%u.h5", folder, set, phase, number);
}

static struct study_options options_of(const struct set *set, const struct part *part,
                                       const char *path)
{
    struct study_options options = {
        .cases = {true, true, true, true},
        .contexts_count = with_files(set) ? CONTEXTS : CONTEXTS_OF_MOST,
        .batch = set->batch ? set->batch : 1,
        .query_len = 1,
        .cubes_per_group = set->cubes_per_group ? set->cubes_per_group : 8,
        .tile = set->tile,
        .record_ahead = part->ahead,
        .reduce_pe = set->reduce_pe,
        .reduce_cube = set->reduce_cube,
        .packed = set->packed,
        .tp_redundant = set->redundant,
        .gemm = set->gemm,
        .form = set->form,
        .trace = with_files(set) ? TRACE_COMMANDS : TRACE_NONE,
        .seed = 1,
        .output = path,
    };
    options.contexts = memory_new(options.contexts_count, sizeof *options.contexts);
    memcpy(options.contexts, contexts, options.contexts_count * sizeof *contexts);
    return options;
}

static struct config *machine_of(const struct set *set, struct error *err)
{
    struct config *config = config_new();
    bool ok = true;
    for (int i = 0; i < 4 && set->machine[i] != NULL && ok; i++)
        ok = config_set(config, set->machine[i], err);
    if (ok)
        config_finish(config, err);
    return config;
}

static void append_counts(char *text, const uint64_t *counts)
{
    for (int i = 0; i < COUNT_KINDS; i++)
        snprintf(text + strlen(text), TEXT_BYTES - strlen(text), " %" PRIu64, counts[i]);
}

/* Everything that a point promises, in words. */
static void append_point(char *text, const struct point_summary *p)
{
    snprintf(text + strlen(text), TEXT_BYTES - strlen(text),
             "%s %s case %u S %" PRIu64 " B %u groups %u latency %" PRIu64 " kv %" PRIu64
             " %" PRIu64 " fits %d read %" PRIu64 " sent %" PRIu64
             " busiest %d %.17g %.17g %.17g steps %" PRIu64 " events %" PRIu64 " digest %016" PRIx64
             " counts",
             p->phase, p->kernel, p->case_number, p->context, p->batch, p->groups, p->latency_ps,
             p->kv_bytes_per_cube, p->kv_bytes_all_layers, p->fits, p->read_bytes, p->sent_bytes,
             (int)p->busiest, p->busiest_share, p->gemm_busy_share, p->gemm_useful_share,
             p->gemm_steps, p->events, p->digest);
    append_counts(text, p->commands);
    append_counts(text, p->commands_total);
    snprintf(text + strlen(text), TEXT_BYTES - strlen(text), "\n");
}

static void run(const struct set *set, const struct part *part, const char *path, char *text)
{
    struct error err = {ERROR_NONE, ""};
    struct study_report report = {0};
    struct comm comm = comm_of(part->comm);
    struct config *config = machine_of(set, &err);
    struct study_options options = options_of(set, part, path);
    text[0] = '\0';
    if (err.code == ERROR_NONE) {
        char *machine = config_text(config);
        if (study_run(&comm, config_params(config), machine, &options, &report, &err) != STUDY_DONE)
            fail("did not finish", set->name, part, err.text);
        for (uint32_t i = 0; i < report.count; i++)
            append_point(text, &report.points[i]);
        if (report.count != plan_points(&options))
            fail("points are missing", set->name, part, "");
        memory_free(machine);
    } else {
        fail("no machine", set->name, part, err.text);
    }
    study_report_fini(&report);
    memory_free(options.contexts);
    config_free(config);
}

/* The first line in which two texts differ. */
static void compare(const char *wanted, const char *got, const struct set *set,
                    const struct part *part)
{
    if (strcmp(wanted, got) == 0)
        return;
    char detail[2048];
    size_t at = 0;
    while (wanted[at] == got[at])
        at++;
    while (at > 0 && wanted[at - 1] != '\n')
        at--;
    snprintf(detail, sizeof detail, "\n  wanted %.*s\n  got    %.*s",
             (int)strcspn(wanted + at, "\n"), wanted + at, (int)strcspn(got + at, "\n"), got + at);
    fail("points differ", set->name, part, detail);
}

/* Whether h5diff finds two files alike, and says nothing. */
static bool alike(const char *a, const char *b)
{
    char command[512], line[512];
    snprintf(command, sizeof command, "h5diff --exclude-path /run '%s' '%s' 2>&1", a, b);
    FILE *pipe = popen(command, "r");
    if (pipe == NULL)
        return false;
    bool silent = true;
    while (fgets(line, sizeof line, pipe) != NULL) {
        fprintf(stderr, "h5diff: %s", line);
        silent = false;
    }
    return pclose(pipe) == 0 && silent;
}

/* Whether this part of a phase is run for this set. */
static bool wanted_of(uint32_t set, uint32_t phase, uint32_t part)
{
    if (with_files(&sets[set]))
        return true;
    return phase == LITTLE ? part <= ALONE : phase < LITTLE && (is_long || phase == set % 2);
}

/* The file of one rank against all others. */
static void compare_files(uint32_t set)
{
    char reference[128], path[128];
    struct part none = {.comm = MPI_COMM_NULL};
    file_name(reference, sizeof reference, set, LITTLE, ALONE);
    for (uint32_t phase = 0; phase < PHASES; phase++)
        for (uint32_t i = 0; i < 8 && sizes[phase][i] != 0; i++) {
            file_name(path, sizeof path, set, phase, i);
            none.size = sizes[phase][i];
            none.ahead = ahead[phase][i];
            if (strcmp(path, reference) == 0)
                continue;
            if (with_files(&sets[set]) && !alike(reference, path))
                fail("files differ", sets[set].name, &none, path);
            unlink(path);
        }
    unlink(reference);
}

/* A barrier whose waiting ranks leave the cores to the others. */
static void wait_quietly(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0; !done; usleep(2000))
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

/* The phase of the few comes first: its one rank says what the others must find. */
static void run_set(uint32_t number, const struct part *parts)
{
    static const uint32_t order[PHASES] = {LITTLE, 0, 1, 3};
    static char wanted[TEXT_BYTES], got[TEXT_BYTES];
    char path[128];
    for (uint32_t i = 0; i < PHASES; i++) {
        uint32_t phase = order[i];
        const struct part *part = &parts[phase];
        bool takes_part = part->comm != MPI_COMM_NULL && wanted_of(number, phase, part->number);
        file_name(path, sizeof path, number, phase, part->number);
        if (takes_part)
            run(&sets[number], part, path, got);
        if (phase == LITTLE) {
            memcpy(wanted, got, sizeof wanted);
            wait_quietly();
            MPI_Bcast(wanted, sizeof wanted, MPI_BYTE, ALONE_RANK, MPI_COMM_WORLD);
        }
        if (takes_part)
            compare(wanted, got, &sets[number], part);
    }
    wait_quietly();
    if (world_rank == 0)
        compare_files(number);
    wait_quietly();
}

/* Wrong numbers must not compare as equal: what is compared has the study's known values. */
static void check_known_values(const struct part *part)
{
    static char text[TEXT_BYTES];
    char path[128];
    file_name(path, sizeof path, SETS, 0, part->number);
    run(&sets[0], part, path, text);
    if (strstr(text, "case 4 S 8192 B 1 groups 2 latency ") == NULL ||
        strstr(text, "counts 192 1 189 ") == NULL)
        fail("the study's values are missing", sets[0].name, part, text);
    MPI_Barrier(part->comm);
    if (world_rank == 0)
        unlink(path);
}

static void make_folder(void)
{
    if (world_rank == 0) {
        snprintf(folder, sizeof folder, "/tmp/ahbm-study-XXXXXX");
        if (mkdtemp(folder) == NULL)
            MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Bcast(folder, sizeof folder, MPI_BYTE, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    struct part parts[PHASES];
    int world_size;
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
    study_start();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (world_size != RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    make_folder();
    is_long = getenv("AHBM_LONG_TESTS") != NULL;
    for (uint32_t i = 0; i < PHASES; i++)
        parts[i] = take_part(i);
    double start = MPI_Wtime();
    for (uint32_t i = 0; i < SETS; i++)
        run_set(i, parts);
    check_known_values(&parts[0]);
    for (uint32_t i = 0; i < PHASES; i++)
        if (parts[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&parts[i].comm);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0) {
        rmdir(folder);
        printf("%d sets of 8 or 20 points on 1, 2, 3, 5, 8 and 16 ranks in %.1f s: %llu "
               "disagreements\n",
               (int)SETS, MPI_Wtime() - start, (unsigned long long)failures);
    }
    MPI_Finalize();
    return failures > 0;
}
