/* The trace of a point: all CUBEs' records in CUBE order in one dataset, and an index of who has
 * which. Processes write slices of their records in turns, each turn collective, until the process
 * with the most is done. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "hw/trace.h"
#include "io/results_hdf5.h"
#include "io/results_internal.h"
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

struct trace_writer {
    struct results *results;
    struct spool *spool;
    int64_t group;
    int64_t dataset;
    uint64_t *counts; /* records of each CUBE */
    uint64_t total;
    uint64_t next, end; /* of this process: what is still to be written */
    uint32_t cube;      /* of this process: the reader is in this one, */
    uint64_t within;    /* at this record of it */
    struct trace_record *slice;
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
    const struct group *group = &writer->results->file.group;
    uint64_t *mine = memory_new(layout->local_cubes, sizeof *mine);
    for (uint32_t i = 0; i < layout->local_cubes; i++)
        mine[i] = spool_count(writer->spool, i);
    writer->counts = memory_new(layout->cubes, sizeof *writer->counts);
    group_gather(group, mine, layout->local_cubes * sizeof *mine, writer->counts);
    group_broadcast(group, writer->counts, layout->cubes * sizeof *writer->counts);
    memory_free(mine);
}

/* Where each CUBE begins, this process's part, and the total. */
static void place_records(struct trace_writer *writer)
{
    const struct results_layout *layout = &writer->results->layout;
    for (uint32_t cube = 0; cube < layout->cubes; cube++) {
        if (cube == layout->first_cube)
            writer->next = writer->end = writer->total;
        writer->total += writer->counts[cube];
        if (cube >= layout->first_cube && cube - layout->first_cube < layout->local_cubes)
            writer->end = writer->total;
    }
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
    struct hdf5_box box = {{0, 0}, {writer->results->file.group.rank == 0 ? cubes : 0, 2}};
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

static bool open_writer(struct trace_writer *writer, uint64_t point, struct error *err)
{
    struct results_file *file = &writer->results->file;
    count_records(writer);
    place_records(writer);
    spool_finish(writer->spool, err);
    if (!results_file_reserve(file, GROUP_BYTES + chunk_count(writer) * CHUNK_BYTES, err))
        return false;
    char name[32];
    snprintf(name, sizeof name, "point_%06llu", (unsigned long long)point);
    bool good = make_trace_group(writer->results);
    writer->group = hdf5_group_new(writer->results->trace_group, name);
    good = good && write_index(writer) && (writer->total == 0 || make_dataset(writer));
    return results_file_agree(file, good, err);
}

static void close_writer(struct trace_writer *writer)
{
    if (writer->dataset >= 0)
        hdf5_dataset_close(writer->dataset);
    if (writer->group >= 0)
        hdf5_group_close(writer->group);
    memory_free(writer->slice);
    memory_free(writer->counts);
}

/* Reads the next `count` records of this process, through its CUBEs in order. */
static bool read_slice(struct trace_writer *writer, uint64_t count, struct error *err)
{
    struct trace_record *to = writer->slice;
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

static uint64_t slice_end(const struct trace_writer *writer)
{
    uint64_t border = (writer->next / SLICE_RECORDS + 1) * SLICE_RECORDS;
    return border < writer->end ? border : writer->end;
}

static uint64_t slices(const struct trace_writer *writer)
{
    if (writer->next == writer->end)
        return 0;
    return (writer->end - 1) / SLICE_RECORDS - writer->next / SLICE_RECORDS + 1;
}

/* The most that all slices of this turn take in the file: their chunks. Collective. */
static uint64_t turn_bytes(const struct trace_writer *writer, uint64_t end)
{
    uint64_t touched =
        end == writer->next ? 0 : (end - 1) / CHUNK_RECORDS - writer->next / CHUNK_RECORDS + 1;
    uint64_t chunks = group_sum(&writer->results->file.group, touched);
    if (chunks > chunk_count(writer))
        chunks = chunk_count(writer);
    return chunks * (chunk_records(writer) * sizeof(struct trace_record) + CHUNK_BYTES);
}

static bool write_slice(struct trace_writer *writer, struct error *err)
{
    struct results_file *file = &writer->results->file;
    uint64_t end = slice_end(writer);
    uint64_t count = end - writer->next;
    uint64_t bytes = turn_bytes(writer, end);
    read_slice(writer, count, err);
    if (!results_file_reserve(file, bytes, err))
        return false;
    struct hdf5_box box = {{writer->next}, {count}};
    writer->next = end;
    return results_file_agree(
        file, hdf5_dataset_write(writer->dataset, &record_type, &box, writer->slice), err);
}

static bool write_commands(struct trace_writer *writer, struct error *err)
{
    uint64_t turns = group_max(&writer->results->file.group, slices(writer));
    uint64_t most = writer->end - writer->next;
    writer->slice = memory_new(most < SLICE_RECORDS ? most : SLICE_RECORDS, sizeof *writer->slice);
    while (turns-- > 0)
        if (!write_slice(writer, err))
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
