/* The arrays over points. Each process collects its rows; a full batch goes to the team's writer,
 * which brings the members' rows together, and the writers write. All datasets take the same number
 * of points per chunk and are written a chunk at a time, whole, so nothing is compressed twice,
 * whatever the number of points. */
#include <assert.h>
#include <string.h>

#include "results/results_internal.h"
#include "results/results_schema.h"
#include "support/memory.h"

/* The rows of a batch, all processes together, are at most so large (or one point). */
#define BATCH_BYTES (UINT64_C(3) << 20)
enum { BATCH_POINTS = 128 };

/* What a dataset costs in the file beside its values: header, attributes, chunk index. */
enum { DATASET_BYTES = 8 << 10 };

/* Structures of a point in all processes together. */
static uint64_t items_of(const struct results_column *column, const struct results_layout *layout)
{
    struct results_axis axes[HDF5_RANK_MAX];
    uint64_t items = 1;
    uint32_t rank = results_column_axes(column, layout, axes);
    for (uint32_t i = 1; i < rank; i++)
        items *= axes[i].length;
    return items / column->width;
}

static uint64_t row_bytes(const struct results_column *column, uint64_t items)
{
    return items * column->width * results_column_bytes(column);
}

static uint64_t point_bytes(const struct results *results)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < results->columns; i++) {
        const struct results_column *column = &results->rows[i].column;
        bytes += row_bytes(column, items_of(column, &results->layout));
    }
    assert(bytes > 0); /* every layout has columns */
    return bytes;
}

static uint32_t batch_of(const struct results *results)
{
    uint64_t batch = BATCH_BYTES / point_bytes(results);
    if (batch > BATCH_POINTS)
        batch = BATCH_POINTS;
    if (batch > results->layout.points)
        batch = results->layout.points;
    return batch > 0 ? (uint32_t)batch : 1;
}

static bool by_cube(const struct results_column *column)
{
    return column->source != FROM_POINT && column->source != FROM_GROUP;
}

/* Structures of a point in a process that has `cubes` CUBEs. What all processes know alike is
 * written by the first. */
static uint64_t share_of(const struct results *results, const struct results_column *column,
                         uint32_t cubes, bool first)
{
    uint64_t items = items_of(column, &results->layout);
    if (by_cube(column))
        return items / results->layout.cubes * cubes;
    return first ? items : 0;
}

static void place_rows(struct results *results)
{
    const struct results_layout *layout = &results->layout;
    for (uint32_t i = 0; i < results->columns; i++) {
        struct results_rows *rows = &results->rows[i];
        rows->items =
            share_of(results, &rows->column, layout->local_cubes, results->team.all.rank == 0);
        results->block_bytes += results->batch * row_bytes(&rows->column, rows->items);
    }
    char *next = results->block = memory_new(results->block_bytes, 1);
    for (uint32_t i = 0; i < results->columns; i++) {
        struct results_rows *rows = &results->rows[i];
        rows->values = next;
        next += results->batch * row_bytes(&rows->column, rows->items);
    }
}

void results_rows_init(struct results *results)
{
    struct results_column column;
    for (size_t i = 0; results_column_at(&results->layout, i, &column); i++) {
        if (column.type.kind == HDF5_TEXT || !results_column_wanted(&column, &results->layout))
            continue;
        results->rows = memory_resize(results->rows, results->columns + 1, sizeof *results->rows);
        results->rows[results->columns++] = (struct results_rows){.column = column, .dataset = -1};
    }
    results->batch = batch_of(results);
    place_rows(results);
}

void results_rows_fini(struct results *results)
{
    memory_free(results->block);
    memory_free(results->rows);
}

/* The structures of a point that a column reads: `stride` bytes apart. */
struct source {
    const void *base;
    size_t stride;
};

static void find_sources(const struct results_point *point, struct source sources[COLUMN_SOURCES])
{
    sources[FROM_POINT] = (struct source){point->scalars, 0}; /* one */
    sources[FROM_GROUP] = (struct source){point->group_latency_ps, sizeof(uint64_t)};
    sources[FROM_CUBE] = (struct source){point->cubes, sizeof *point->cubes};
    sources[FROM_CUBE_FOOTPRINT] =
        (struct source){point->cube_footprints, sizeof *point->cube_footprints};
    sources[FROM_PE] = (struct source){point->pe_results, sizeof *point->pe_results};
    sources[FROM_PE_SUMMARY] = sources[FROM_PE];
    sources[FROM_PE_FOOTPRINT] = (struct source){point->footprints, sizeof *point->footprints};
}

static void copy_row(struct results_rows *rows, struct source source, uint32_t at)
{
    const struct results_column *column = &rows->column;
    uint32_t bytes = results_column_bytes(column);
    char *to = rows->values + at * row_bytes(column, rows->items);
    for (uint64_t i = 0; i < rows->items; i++) {
        const char *from = (const char *)source.base + i * source.stride + column->offset;
        memcpy(to, from, (size_t)bytes * column->width);
        to += (size_t)bytes * column->width;
    }
}

static void copy_point(struct results *results, const struct results_point *point)
{
    struct source sources[COLUMN_SOURCES];
    find_sources(point, sources);
    for (uint32_t i = 0; i < results->columns; i++)
        copy_row(&results->rows[i], sources[results->rows[i].column.source], results->waiting);
}

bool results_rows_add(struct results *results, const struct results_point *point, struct error *err)
{
    copy_point(results, point);
    return ++results->waiting < results->batch || results_rows_flush(results, err);
}

/* The dataset as it is once the waiting points are in. */
static struct hdf5_shape shape_of(const struct results *results,
                                  const struct results_column *column)
{
    struct results_axis axes[HDF5_RANK_MAX];
    struct hdf5_shape shape = {.rank = results_column_axes(column, &results->layout, axes)};
    shape.dims[0] = results->written + results->waiting;
    shape.dims_max[0] = results->layout.points;
    shape.chunk[0] = results->batch;
    for (uint32_t i = 1; i < shape.rank; i++)
        shape.dims[i] = shape.dims_max[i] = shape.chunk[i] = axes[i].length;
    return shape;
}

/* The team's part of the waiting points. */
static struct hdf5_box box_of(const struct results *results, const struct results_column *column,
                              const struct hdf5_shape *shape)
{
    struct hdf5_box box = {{0}, {0}};
    if (share_of(results, column, results->team.cubes, results->team.all.rank == 0) == 0)
        return box;
    memcpy(box.count, shape->dims, sizeof box.count);
    box.start[0] = results->written;
    box.count[0] = results->waiting;
    if (by_cube(column)) {
        box.start[1] = results->team.first_cube;
        box.count[1] = results->team.cubes;
    }
    return box;
}

static bool make_dataset(struct results *results, struct results_rows *rows,
                         const struct hdf5_shape *shape)
{
    const struct results_column *column = &rows->column;
    rows->dataset = hdf5_dataset_new(results->points_group, column->name, &column->type, shape,
                                     column->units, column->description);
    return rows->dataset >= 0;
}

/* Makes the dataset or lets it grow. */
static bool extend_rows(struct results *results, struct results_rows *rows)
{
    struct hdf5_shape shape = shape_of(results, &rows->column);
    return rows->dataset < 0 ? make_dataset(results, rows, &shape)
                             : hdf5_dataset_extend(rows->dataset, shape.dims);
}

/* What the members of a team sent: their blocks, each read column by column. */
struct collection {
    char *blocks;
    const char **next; /* [members]: the column to be read now */
};

static uint64_t member_row(const struct results *results, const struct results_column *column,
                           uint32_t member)
{
    bool first = member == 0 && results->team.all.rank == 0;
    return row_bytes(column, share_of(results, column, results->team.member_cubes[member], first));
}

/* Finds the blocks, sets out for the first column. Returns the bytes of all. */
static size_t find_blocks(const struct results *results, struct collection *collection)
{
    size_t place = 0;
    for (uint32_t member = 0; member < results->team.members.size; member++) {
        collection->next[member] = collection->blocks + place;
        for (uint32_t i = 0; i < results->columns; i++)
            place += results->batch * member_row(results, &results->rows[i].column, member);
    }
    return place;
}

/* Brings the members' blocks to their writer. Collective over the team. */
static void collect(const struct results *results, struct collection *collection)
{
    const struct results_team *team = &results->team;
    collection->next = memory_new(team->members.size, sizeof *collection->next);
    if (team->writes)
        collection->blocks = memory_new(find_blocks(results, collection), 1);
    comm_gather(&team->members, results->block, results->block_bytes, collection->blocks);
    if (team->writes)
        find_blocks(results, collection);
}

static void free_collection(struct collection *collection)
{
    memory_free(collection->blocks);
    memory_free(collection->next);
}

/* The column's waiting rows of the whole team, freed by memory_free(). */
static char *merge(const struct results *results, struct collection *collection,
                   const struct results_column *column)
{
    uint32_t members = results->team.members.size;
    size_t bytes = 0, place = 0;
    for (uint32_t member = 0; member < members; member++)
        bytes += member_row(results, column, member);
    char *merged = memory_new(results->waiting, bytes);
    for (uint32_t member = 0; member < members; member++) {
        size_t row = member_row(results, column, member);
        for (size_t i = 0; i < results->waiting; i++)
            memcpy(merged + i * bytes + place, collection->next[member] + i * row, row);
        collection->next[member] += results->batch * row;
        place += row;
    }
    return merged;
}

static bool write_rows(const struct results *results, const struct results_rows *rows,
                       struct collection *collection)
{
    struct hdf5_shape shape = shape_of(results, &rows->column);
    struct hdf5_box box = box_of(results, &rows->column, &shape);
    char *values = merge(results, collection, &rows->column);
    bool good = hdf5_dataset_write(rows->dataset, &rows->column.type, &box, values);
    memory_free(values);
    return good;
}

/* What the waiting points may take in the file, badly compressed. */
static uint64_t flush_bytes(const struct results *results)
{
    uint64_t bytes = results->batch * point_bytes(results);
    return bytes + bytes / 64 + (uint64_t)results->columns * DATASET_BYTES;
}

/* Collective over the writers. */
static bool write_all(struct results *results, struct collection *collection, struct error *err)
{
    struct results_file *file = &results->file;
    if (!results_file_reserve(file, flush_bytes(results), err))
        return false;
    bool good = true; /* a process that fails goes on with the others until all know */
    for (uint32_t i = 0; i < results->columns; i++)
        good = extend_rows(results, &results->rows[i]) && good;
    if (!results_file_agree(file, good, err))
        return false;
    for (uint32_t i = 0; i < results->columns; i++)
        if (!results_file_agree(file, write_rows(results, &results->rows[i], collection), err))
            return false;
    return true;
}

bool results_rows_flush(struct results *results, struct error *err)
{
    if (results->waiting == 0)
        return true;
    struct collection collection = {NULL, NULL};
    collect(results, &collection);
    if (results->team.writes)
        write_all(results, &collection, err);
    free_collection(&collection);
    results->written += results->waiting;
    results->waiting = 0;
    return comm_agree(&results->team.all, err);
}
