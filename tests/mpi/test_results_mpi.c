/* The results file does not depend on who wrote it: teams of 1, 2, 3, 5, 8 and 16 ranks of one
 * launch write the same made-up results, and the files are the same in every respect; what is in
 * them is read back. Failures leave nothing behind and are told to all ranks alike. */
#include <ftw.h>
#include <hdf5.h>
#include <hdf5_hl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results_content.h"

enum { PATH_BYTES = 512 };

struct check {
    struct comm world;
    char directory[PATH_BYTES - 64];
    int failures;
};

/* What is written: the shape of a study, of a long sweep, and of a long trace. */
static const struct content contents[] = {
    {.layout = {.points = 5, .cubes = 12, .pes = 8, .groups = 2, .summary = true},
     .records = 700,
     .last_empty = true},
    {.layout = {.points = 300, .cubes = 3, .pes = 2, .groups = 1}},
    {.layout = {.points = 1, .cubes = 5, .pes = 1, .groups = 1}, .records = 40000},
    {.layout = {.points = 2, .cubes = 16, .pes = 8, .groups = 1}, .records = 9000, .random = true},
};
enum { CONTENTS = sizeof contents / sizeof contents[0] };

/* Who writes: `size` ranks from `first` on. The small teams write at the same time. */
struct team {
    uint32_t first, size;
};
static const struct team small_teams[] = {{0, 1}, {1, 2}, {3, 3}, {6, 5}}, eight = {0, 8},
                         sixteen = {0, 16};
enum { SMALL_TEAMS = sizeof small_teams / sizeof small_teams[0], TEAMS = SMALL_TEAMS + 2 };

static void expect(struct check *check, bool good, const char *what, uint64_t number)
{
    if (good)
        return;
    check->failures++;
    fprintf(stderr, "rank %u: failed: %s (%llu)\n", check->world.rank, what,
            (unsigned long long)number);
}

static struct content content_of(uint32_t kind)
{
    struct content content = contents[kind];
    content.layout.version = "0.1.0";
    content.layout.config = "machine:\n  a: 1\n";
    content.layout.seed = 42;
    content.layout.hbm_capacity_bytes = UINT64_C(1) << 48;
    content.layout.model_layers = 80;
    return content;
}

static void path_of(const struct check *check, char path[PATH_BYTES], const char *name, uint32_t a,
                    uint32_t b)
{
    snprintf(path, PATH_BYTES, "%s/%s_%u_%u.h5", check->directory, name, a, b);
}

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

static bool temporary_exists(const char *path)
{
    char temporary[PATH_BYTES + 8];
    snprintf(temporary, sizeof temporary, "%.*s.tmp", PATH_BYTES - 1, path);
    return exists(temporary);
}

/* --- reading back (rank 0) -----------------------------------------------------------------------
 */

/* The dataset's values, freed by memory_free(), and their number; NULL when it cannot be read. */
static void *read_all(hid_t file, const char *name, hid_t type, uint64_t *count)
{
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t space = H5Dget_space(dataset);
    hssize_t points = H5Sget_simple_extent_npoints(space);
    void *values = NULL;
    if (points > 0) {
        *count = (uint64_t)points;
        values = memory_new(*count, H5Tget_size(type));
        if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
            memory_free(values);
            values = NULL;
        }
    }
    H5Sclose(space);
    H5Dclose(dataset);
    return values;
}

/* An array over CUBEs and PEs (pes = 1: over CUBEs) of `width` words from `field` on. */
static void check_words(struct check *check, hid_t file, const struct content *content,
                        const char *name, uint32_t pes, uint32_t width, uint64_t field)
{
    uint64_t count = 0;
    uint64_t *values = read_all(file, name, H5T_NATIVE_UINT64, &count);
    const struct results_layout *layout = &content->layout;
    uint64_t per_cube = (uint64_t)pes * width;
    expect(check, count == layout->points * layout->cubes * per_cube, name, count);
    for (uint64_t i = 0; values != NULL && i < count; i++) {
        uint64_t cube = i / per_cube;
        uint64_t expected = content_word(cube / layout->cubes, cube % layout->cubes,
                                         i / width % pes, field + i % width);
        if (values[i] != expected) {
            expect(check, false, name, i);
            break;
        }
    }
    memory_free(values);
}

static void check_fits(struct check *check, hid_t file, const struct content *content)
{
    uint64_t count = 0;
    uint8_t *fits = read_all(file, "points/fits", H5T_NATIVE_UINT8, &count);
    expect(check, fits != NULL && count == content->layout.points * content->layout.cubes, "fits",
           count);
    for (uint64_t i = 0; fits != NULL && i < count; i++)
        expect(check, fits[i] == i % content->layout.cubes % 2, "fits", i);
    memory_free(fits);
}

static void check_text(struct check *check, hid_t file, const struct content *content)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    uint64_t count = 0;
    char **texts = read_all(file, "points/phase", type, &count);
    expect(check, count == content->layout.points, "phases", count);
    for (uint64_t i = 0; texts != NULL && i < count; i++) {
        expect(check, strcmp(texts[i], i % 2 ? "prefill" : "decode") == 0, "phase", i);
        H5free_memory(texts[i]);
    }
    memory_free(texts);
    H5Tclose(type);
}

static herr_t check_scales(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    (void)info;
    hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT), space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_ndims(space);
    for (int i = 0; i < rank && H5DSis_scale(dataset) == 0; i++)
        expect(context, H5DSget_num_scales(dataset, (unsigned)i) == 1, name, (uint64_t)i);
    H5Sclose(space);
    H5Dclose(dataset);
    return 0;
}

/* Every axis of every array over points has one scale. */
static void check_points(struct check *check, hid_t file)
{
    hid_t group = H5Gopen2(file, "points", H5P_DEFAULT);
    expect(check, H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, check_scales, check) >= 0,
           "scales", 0);
    H5Gclose(group);
}

static hid_t new_record_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct trace_record));
    H5Tinsert(type, "command", HOFFSET(struct trace_record, command), H5T_NATIVE_UINT64);
    H5Tinsert(type, "start_ps", HOFFSET(struct trace_record, start_ps), H5T_NATIVE_UINT64);
    H5Tinsert(type, "cause_command", HOFFSET(struct trace_record, cause_command),
              H5T_NATIVE_UINT64);
    H5Tinsert(type, "cube", HOFFSET(struct trace_record, cube), H5T_NATIVE_UINT32);
    H5Tinsert(type, "pe", HOFFSET(struct trace_record, pe), H5T_NATIVE_UINT16);
    H5Tinsert(type, "engine", HOFFSET(struct trace_record, engine), H5T_NATIVE_UINT8);
    return type;
}

static bool same_record(const struct trace_record *a, const struct trace_record *b)
{
    return a->command == b->command && a->start_ps == b->start_ps &&
           a->cause_command == b->cause_command && a->cube == b->cube && a->pe == b->pe &&
           a->engine == b->engine;
}

/* `index` leads to each CUBE's records, and they are all there is. */
static void check_records(struct check *check, const struct content *content, uint64_t point,
                          const uint64_t (*index)[2], const struct trace_record *records,
                          uint64_t count)
{
    uint64_t next = 0;
    for (uint32_t cube = 0; cube < content->layout.cubes; cube++) {
        uint64_t expected = content_count(content, point, cube);
        expect(check, index[cube][0] == next && index[cube][1] == expected, "index", cube);
        next += expected;
        for (uint64_t i = 0; i < expected && index[cube][0] + i < count; i++) {
            struct trace_record record = content_record(content, point, cube, i);
            if (!same_record(&records[index[cube][0] + i], &record)) {
                expect(check, false, "record", index[cube][0] + i);
                return;
            }
        }
    }
    expect(check, next == count, "records", count);
}

static void check_trace(struct check *check, hid_t file, const struct content *content,
                        uint64_t point)
{
    char name[64];
    snprintf(name, sizeof name, "trace/point_%06llu/index", (unsigned long long)point);
    uint64_t words = 0, count = 0;
    uint64_t(*index)[2] = read_all(file, name, H5T_NATIVE_UINT64, &words);
    expect(check, index != NULL && words == 2 * (uint64_t)content->layout.cubes, "index", words);
    snprintf(name, sizeof name, "trace/point_%06llu/commands", (unsigned long long)point);
    hid_t type = new_record_type();
    struct trace_record *records = read_all(file, name, type, &count);
    if (index != NULL)
        check_records(check, content, point, (const uint64_t(*)[2])index, records, count);
    H5Tclose(type);
    memory_free(records);
    memory_free(index);
}

static void check_values(struct check *check, const char *path, const struct content *content)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    expect(check, file >= 0, "file opens", 0);
    uint32_t pes = content->layout.pes;
#define PE_FIELD(field) (CONTENT_PE + offsetof(struct pe_result, field) / sizeof(uint64_t))
#define CUBE_FIELD(field) (CONTENT_CUBE + offsetof(struct cube_result, field) / sizeof(uint64_t))
    check_words(check, file, content, "points/commands", pes, COUNT_KINDS, PE_FIELD(cpu.counts));
    check_words(check, file, content, "points/busy_ps", pes, ENGINE_KINDS, PE_FIELD(busy_ps));
    check_words(check, file, content, "points/read_bytes", pes, 1, PE_FIELD(dma.read_bytes));
    check_words(check, file, content, "points/pe_link_bytes", pes, DIRECTIONS,
                PE_FIELD(links.bytes));
    check_words(check, file, content, "points/q_bytes_pe", pes, 1, CONTENT_FOOTPRINT + 1);
    check_words(check, file, content, "points/cube_link_bytes", 1, 2 * DIRECTIONS,
                CUBE_FIELD(links.bytes));
    check_words(check, file, content, "points/cube_digest", 1, 1, CUBE_FIELD(digest));
    if (content->layout.summary)
        check_words(check, file, content, "points/op_time_ps", pes, PROG_OPS_RUN,
                    PE_FIELD(cpu.op_time_ps));
#undef PE_FIELD
#undef CUBE_FIELD
    check_words(check, file, content, "points/kv_bytes", 1, 1, CONTENT_ROOM);
    check_fits(check, file, content);
    check_text(check, file, content);
    check_points(check, file);
    if (content->records > 0)
        for (uint64_t point = 0; point < content->layout.points; point++)
            check_trace(check, file, content, point);
    H5Fclose(file);
}

/* --- comparing (rank 0) --------------------------------------------------------------------------
 */

/* Runs a command; true when it says nothing and succeeds, or is not installed. */
static bool says_nothing(const char *command)
{
    FILE *pipe = popen(command, "r");
    if (pipe == NULL)
        return true;
    bool silent = true;
    for (int c; (c = fgetc(pipe)) != EOF; silent = false)
        fputc(c, stderr);
    int status = pclose(pipe);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    return code == 77 || code == 127 || (silent && code == 0);
}

/* Each file against the first, in every respect (h5same.py) and as h5diff sees it. */
static void check_same(struct check *check, char paths[][PATH_BYTES], uint32_t count)
{
    char command[(TEAMS + 2) * PATH_BYTES], *end = command + sizeof command, *at = command;
    for (uint32_t i = 1; i < count; i++) {
        snprintf(command, sizeof command, "h5diff --exclude-path /run '%s' '%s'", paths[0],
                 paths[i]);
        expect(check, says_nothing(command), "h5diff", i);
    }
    at += snprintf(at, (size_t)(end - at),
                   "python=python3; /usr/bin/python3 -c 'import h5py' 2>/dev/null && "
                   "python=/usr/bin/python3; $python '" AHBM_SOURCE_DIR "/tests/tools/h5same.py'");
    for (uint32_t i = 0; i < count; i++)
        at += snprintf(at, (size_t)(end - at), " '%s'", paths[i]);
    expect(check, says_nothing(command), "h5same.py", count);
}

/* --- the tests -----------------------------------------------------------------------------------
 */

/* A barrier whose waiting ranks leave the cores to the others. */
static void wait_quietly(const struct comm *comm)
{
    MPI_Request request;
    MPI_Ibarrier(comm->comm, &request);
    for (int done = 0; !done; usleep(2000))
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

/* The teams write at once, each its file; who is in none waits. Returns whether it went well, on
 * all ranks. */
static bool write_with(struct check *check, const struct team *teams, uint32_t count,
                       struct content content, char paths[][PATH_BYTES], uint32_t points,
                       struct error *err)
{
    MPI_Comm split;
    uint32_t team = 0, rank = check->world.rank;
    while (team < count && rank - teams[team].first >= teams[team].size)
        team++;
    MPI_Comm_split(check->world.comm, team < count ? (int)team : MPI_UNDEFINED, 0, &split);
    if (team < count) {
        struct comm comm = comm_of(split);
        content_begin(&content, &comm, check->directory);
        content_write(&content, &comm, paths[team], points, err);
        content_end(&content);
        MPI_Comm_free(&split);
    }
    wait_quietly(&check->world);
    return comm_agree(&check->world, err);
}

static void check_written(struct check *check, const struct content *content,
                          char paths[][PATH_BYTES])
{
    for (uint32_t i = 0; i < TEAMS; i++)
        expect(check, !temporary_exists(paths[i]), "temporary file stays", i);
    check_values(check, paths[0], content);
    check_same(check, paths, TEAMS);
}

static void test_teams(struct check *check, uint32_t kind)
{
    struct content content = content_of(kind);
    struct error err = {ERROR_NONE, ""};
    char paths[TEAMS][PATH_BYTES];
    uint32_t points = content.layout.points;
    for (uint32_t i = 0; i < TEAMS; i++)
        path_of(check, paths[i], "content", kind, i);
    bool good = write_with(check, small_teams, SMALL_TEAMS, content, paths, points, &err) &&
                write_with(check, &eight, 1, content, paths + SMALL_TEAMS, points, &err) &&
                write_with(check, &sixteen, 1, content, paths + SMALL_TEAMS + 1, points, &err);
    expect(check, good, err.text, kind);
    if (check->world.rank == 0 && good)
        check_written(check, &content, paths);
    wait_quietly(&check->world);
}

/* Fewer points than announced: the file has those. */
static void test_interrupted(struct check *check, uint32_t points)
{
    struct content content = content_of(0);
    char paths[2][PATH_BYTES];
    path_of(check, paths[0], "interrupted", points, 0);
    path_of(check, paths[1], "interrupted", points, 1);
    struct error err = {ERROR_NONE, ""};
    bool good = write_with(check, small_teams, 1, content, paths, points, &err) &&
                write_with(check, &sixteen, 1, content, paths + 1, points, &err);
    expect(check, good, err.text, points);
    if (check->world.rank == 0 && good) {
        check_same(check, paths, 2);
        hid_t file = H5Fopen(paths[1], H5F_ACC_RDONLY, H5P_DEFAULT);
        uint64_t count = 0;
        memory_free(read_all(file, "points/latency_ps", H5T_NATIVE_UINT64, &count));
        expect(check, count == points, "interrupted", count);
        H5Fclose(file);
    }
    wait_quietly(&check->world);
}

/* All ranks get the same line, and no file appears. */
static void expect_refusal(struct check *check, const char *path, const char *why)
{
    struct content content = content_of(0);
    struct error err = {ERROR_NONE, ""};
    struct results *results = NULL;
    content_share(&content, &check->world);
    results = results_open(&check->world, path, &content.layout, &err);
    char expected[2 * PATH_BYTES];
    snprintf(expected, sizeof expected, "cannot write %s: %s", path, why);
    expect(check, results == NULL && err.code == ERROR_FAILED, path, 0);
    expect(check, strcmp(err.text, expected) == 0, err.text, 0);
    expect(check, !temporary_exists(path), "temporary file stays", 0);
}

static void test_refusals(struct check *check)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/none/x.h5", check->directory);
    expect_refusal(check, path, "No such file or directory");
    expect_refusal(check, check->directory, "Is a directory");
    expect_refusal(check, "/dev/null", "not a regular file");
    path_of(check, path, "content", 0, 0);
    strcat(path, "/x.h5");
    expect_refusal(check, path, "Not a directory");
}

static off_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : -1;
}

/* A run that gives up leaves an older file as it was, and MPI_Finalize() has nothing to do for it.
 */
static void test_abandon(struct check *check)
{
    struct content content = content_of(0);
    char path[PATH_BYTES];
    path_of(check, path, "content", 0, 0);
    off_t before = size_of(path);
    struct error err = {ERROR_NONE, ""};
    content_begin(&content, &check->world, check->directory);
    struct results *results = results_open(&check->world, path, &content.layout, &err);
    expect(check, results != NULL, err.text, 0);
    if (results != NULL) {
        struct results_point point = content_point(&content, 0);
        expect(check, results_add(results, &point, &err), err.text, 0);
        expect(check, temporary_exists(path), "no temporary file", 0);
        MPI_Barrier(check->world.comm);
        results_abandon(results);
        MPI_Barrier(check->world.comm);
        expect(check, !temporary_exists(path), "temporary file stays", 0);
        expect(check, size_of(path) == before, "older file changed", 0);
    }
    content_end(&content);
}

static int remove_entry(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    (void)status, (void)flag, (void)ftw;
    return remove(path);
}

static void make_directory(struct check *check)
{
    const char *parent = getenv("TMPDIR");
    snprintf(check->directory, sizeof check->directory, "%s/ahbm-results-XXXXXX",
             parent != NULL ? parent : "/tmp");
    if (check->world.rank == 0 && mkdtemp(check->directory) == NULL)
        check->directory[0] = '\0';
    comm_broadcast(&check->world, check->directory, sizeof check->directory);
}

int main(int argc, char **argv)
{
    results_start();
    MPI_Init(&argc, &argv);
    struct check check = {.world = comm_of(MPI_COMM_WORLD)};
    make_directory(&check);
    for (uint32_t kind = 0; kind < CONTENTS; kind++)
        test_teams(&check, kind);
    test_interrupted(&check, 3);
    test_interrupted(&check, 0);
    test_refusals(&check);
    test_abandon(&check);
    uint64_t failures = comm_sum(&check.world, (uint64_t)check.failures);
    if (check.world.rank == 0) {
        nftw(check.directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
        printf("results: %llu failures\n", (unsigned long long)failures);
    }
    MPI_Finalize();
    return failures > 0;
}
