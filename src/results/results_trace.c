/* The trace of a point: all CUBEs' records in CUBE order in one dataset, and an index of who has
 * which. Teams write slices of their records in turns, each turn collective, until the team with
 * the most is done. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "machine/trace.h"
#include "results/results_hdf5.h"
#include "results/results_internal.h"
#include "prog/op.h"
#include "support/memory.h"

/* A slice ends at a multiple of its size, so that a chunk has one writer, two at a border. */
enum { CHUNK_RECORDS = 4096, SLICE_RECORDS = 2 * CHUNK_RECORDS };

/* What a trace costs in the file beside its records: groups, headers, attributes; per chunk: its
 * place in the index and its first, empty version. */
enum { GROUP_BYTES = 32 << 10, CHUNK_BYTES = 4 << 10 };

#define MEMBER(field, units)                                                                       \
    {                                                                                              \
#field, units, offsetof(struct trace_record, field),                                       \
            sizeof((struct trace_record){0}.field)                                                 \
    }

static const struct hdf5_member members[] = {
    MEMBER(command, "1"),  MEMBER(issue_ps, "ps"),  MEMBER(start_ps, "ps"),
    MEMBER(end_ps, "ps"),  MEMBER(bytes, "bytes"),  MEMBER(cause_command, "1"),
    MEMBER(cube, "1"),     MEMBER(cause_cube, "1"), MEMBER(pe, "1"),
    MEMBER(cause_pe, "1"), MEMBER(engine, "1"),     MEMBER(op, "1"),
    MEMBER(fn, "1"),       MEMBER(cause, "1"),
};

static const struct hdf5_type record_type = {HDF5_RECORD, sizeof(struct trace_record),
                                             sizeof members / sizeof members[0], members};
static const struct hdf5_type index_type = {HDF5_U64, 0, 0, NULL};

struct range {
    uint64_t first, end; /* records of the point, CUBEs in order */
};

struct trace_writer {
    struct results *results;
    struct spool *spool;
    int64_t group;
    int64_t dataset;
    uint64_t *counts; /* records of each CUBE */
    uint64_t total;
    struct range mine;          /* of this process */
    struct range team;          /* of its team: what is still to be written */
    uint32_t cube;              /* the reader of the spool is in this one, */
    uint64_t within;            /* at this record of it */
    struct trace_record *part;  /* of a slice: this process's */
    struct trace_record *slice; /* the team's, at its writer */
};

static const char *engine_at(uint32_t at)
{
    return engine_kind_name((enum engine_kind)at);
}

static const char *op_at(uint32_t at)
{
    return op_name((enum op)at);
}

static const char *fn_at(uint32_t at)
{
    return math_fn_name((enum math_fn)at);
}

static const char *cause_at(uint32_t at)
{
#define X(id, name) name,
    static const char *const names[] = {TRACE_CAUSES(X)};
#undef X
    return names[at];
}

/* The group of all traces, made for the first; it names the codes in the records. */
static bool make_trace_group(struct results *results)
{
    if (results->trace_group >= 0)
        return true;
    int64_t group = hdf5_group_new(results->file.hdf5, "trace");
    results->trace_group = group;
    return group >= 0 && hdf5_attribute_names(group, "engine", engine_at, ENGINE_KINDS) &&
           hdf5_attribute_names(group, "op", op_at, OP_COUNT) &&
           hdf5_attribute_names(group, "fn", fn_at, MATH_FNS) &&
           hdf5_attribute_names(group, "cause", cause_at, CAUSES);
}

/* All processes learn the number of records of every CUBE. */
static void count_records(struct trace_writer *writer)
{
    const struct results_layout *layout = &writer->results->layout;
    const struct comm *comm = &writer->results->team.all;
    uint64_t *mine = memory_new(layout->local_cubes, sizeof *mine);
    for (uint32_t i = 0; i < layout->local_cubes; i++)
        mine[i] = spool_count(writer->spool, i);
    writer->counts = memory_new(layout->cubes, sizeof *writer->counts);
    comm_gather(comm, mine, layout->local_cubes * sizeof *mine, writer->counts);
    comm_broadcast(comm, writer->counts, layout->cubes * sizeof *writer->counts);
    memory_free(mine);
}

/* The records of `cubes` CUBEs from `first` on. */
static struct range range_of(const struct trace_writer *writer, uint32_t first, uint32_t cubes)
{
    struct range range = {0, 0};
    for (uint32_t cube = 0; cube < first; cube++)
        range.first += writer->counts[cube];
    range.end = range.first;
    for (uint32_t cube = first; cube < first + cubes; cube++)
        range.end += writer->counts[cube];
    return range;
}

static void place_records(struct trace_writer *writer)
{
    const struct results_layout *layout = &writer->results->layout;
    const struct results_team *team = &writer->results->team;
    writer->total = range_of(writer, 0, layout->cubes).end;
    writer->mine = range_of(writer, layout->first_cube, layout->local_cubes);
    writer->team = range_of(writer, team->first_cube, team->cubes);
}

static bool write_index(struct trace_writer *writer)
{
    uint32_t cubes = writer->results->layout.cubes;
    uint64_t(*index)[2] = memory_new(cubes, sizeof *index);
    for (uint32_t cube = 0; cube < cubes; cube++) {
        index[cube][0] = cube > 0 ? index[cube - 1][0] + index[cube - 1][1] : 0;
        index[cube][1] = writer->counts[cube];
    }
    struct hdf5_shape shape = {2, {cubes, 2}, {cubes, 2}, {cubes, 2}};
    struct hdf5_box box = {{0, 0}, {writer->results->team.all.rank == 0 ? cubes : 0, 2}};
    int64_t dataset =
        hdf5_dataset_new(writer->group, "index", &index_type, &shape, "records",
                         "first record in `commands` and number of records of each CUBE");
    bool good = hdf5_dataset_write(dataset, &index_type, &box, index);
    hdf5_dataset_close(dataset);
    memory_free(index);
    return good;
}

static uint64_t chunk_records(const struct trace_writer *writer)
{
    return writer->total < CHUNK_RECORDS ? writer->total : CHUNK_RECORDS;
}

static uint64_t chunk_count(const struct trace_writer *writer)
{
    return (writer->total + CHUNK_RECORDS - 1) / CHUNK_RECORDS;
}

static bool make_dataset(struct trace_writer *writer)
{
    struct hdf5_shape shape = {1, {writer->total}, {writer->total}, {chunk_records(writer)}};
    writer->dataset = hdf5_dataset_new(
        writer->group, "commands", &record_type, &shape, NULL,
        "one record per command in the order of ends within a CUBE; units by member; codes of "
        "engine, op, fn and cause in the attributes of /trace");
    return writer->dataset >= 0;
}

/* Collective over the writers. */
static bool make_group(struct trace_writer *writer, uint64_t point, struct error *err)
{
    struct results_file *file = &writer->results->file;
    if (!results_file_reserve(file, GROUP_BYTES + chunk_count(writer) * CHUNK_BYTES, err))
        return false;
    char name[32];
    snprintf(name, sizeof name, "point_%06llu", (unsigned long long)point);
    bool good = make_trace_group(writer->results);
    writer->group = hdf5_group_new(writer->results->trace_group, name);
    good = good && write_index(writer) && (writer->total == 0 || make_dataset(writer));
    return results_file_agree(file, good, err);
}

static bool open_writer(struct trace_writer *writer, uint64_t point, struct error *err)
{
    count_records(writer);
    place_records(writer);
    spool_finish(writer->spool, err);
    if (writer->results->team.writes)
        make_group(writer, point, err);
    return comm_agree(&writer->results->team.all, err);
}

static void close_writer(struct trace_writer *writer)
{
    if (writer->dataset >= 0)
        hdf5_dataset_close(writer->dataset);
    if (writer->group >= 0)
        hdf5_group_close(writer->group);
    memory_free(writer->part);
    memory_free(writer->slice);
    memory_free(writer->counts);
}

/* The next `count` records of this process, through its CUBEs in order. */
static bool read_part(struct trace_writer *writer, uint64_t count, struct error *err)
{
    struct trace_record *to = writer->part;
    while (count > 0) {
        uint64_t left = spool_count(writer->spool, writer->cube) - writer->within;
        uint64_t take = left < count ? left : count;
        if (!spool_read(writer->spool, writer->cube, writer->within, take, to, err))
            return false;
        to += take;
        count -= take;
        writer->within += take;
        if (take == left) {
            writer->cube++;
            writer->within = 0;
        }
    }
    return true;
}

static struct range next_slice(const struct trace_writer *writer)
{
    uint64_t border = (writer->team.first / SLICE_RECORDS + 1) * SLICE_RECORDS;
    return (struct range){writer->team.first,
                          border < writer->team.end ? border : writer->team.end};
}

static uint64_t blocks_touched(struct range range, uint64_t block)
{
    return range.first == range.end ? 0 : (range.end - 1) / block - range.first / block + 1;
}

static uint64_t overlap(struct range a, struct range b)
{
    uint64_t first = a.first > b.first ? a.first : b.first;
    uint64_t end = a.end < b.end ? a.end : b.end;
    return first < end ? end - first : 0;
}

/* Brings the team's slice to its writer. Collective over the team. */
static void collect_slice(struct trace_writer *writer, struct range slice, struct error *err)
{
    uint64_t count = overlap(writer->mine, slice);
    read_part(writer, count, err);
    comm_gather(&writer->results->team.members, writer->part, count * sizeof *writer->part,
                writer->slice);
}

/* The most that all slices of this turn take in the file: their chunks. Collective over the
 * writers. */
static uint64_t turn_bytes(const struct trace_writer *writer, struct range slice)
{
    uint64_t touched = blocks_touched(slice, CHUNK_RECORDS);
    uint64_t chunks = comm_sum(&writer->results->file.writers, touched);
    if (chunks > chunk_count(writer))
        chunks = chunk_count(writer);
    return chunks * (chunk_records(writer) * sizeof(struct trace_record) + CHUNK_BYTES);
}

/* Collective over the writers. */
static bool write_slice(struct trace_writer *writer, struct range slice, struct error *err)
{
    struct results_file *file = &writer->results->file;
    if (!results_file_reserve(file, turn_bytes(writer, slice), err))
        return false;
    struct hdf5_box box = {{slice.first}, {slice.end - slice.first}};
    bool good = hdf5_dataset_write(writer->dataset, &record_type, &box, writer->slice);
    return results_file_agree(file, good, err);
}

static bool take_turn(struct trace_writer *writer, struct error *err)
{
    struct range slice = next_slice(writer);
    collect_slice(writer, slice, err);
    if (writer->results->team.writes)
        write_slice(writer, slice, err);
    writer->team.first = slice.end;
    return comm_agree(&writer->results->team.all, err);
}

static struct trace_record *new_records(struct range range)
{
    uint64_t count = range.end - range.first;
    return memory_new(count < SLICE_RECORDS ? count : SLICE_RECORDS, sizeof(struct trace_record));
}

static bool write_commands(struct trace_writer *writer, struct error *err)
{
    uint64_t turns =
        comm_max(&writer->results->team.all, blocks_touched(writer->team, SLICE_RECORDS));
    writer->part = new_records(writer->mine);
    if (writer->results->team.writes)
        writer->slice = new_records(writer->team);
    while (turns-- > 0)
        if (!take_turn(writer, err))
            return false;
    return true;
}

bool results_trace_write(struct results *results, uint64_t point, struct spool *spool,
                         struct error *err)
{
    struct trace_writer writer = {.results = results, .spool = spool, .group = -1, .dataset = -1};
    bool good = open_writer(&writer, point, err) && write_commands(&writer, err);
    close_writer(&writer);
    return good;
}
