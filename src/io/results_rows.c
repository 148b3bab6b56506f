/* The arrays over points. All take the same number of points per chunk and are written a chunk at a
 * time, whole, so nothing is read back or compressed twice, whatever the number of points. */
#include <string.h>

#include "io/results_internal.h"
#include "io/results_schema.h"
#include "support/memory.h"

/* The rows of a batch, all processes together, are at most so large (or one point). */
#define BATCH_BYTES (UINT64_C(4) << 20)
enum { BATCH_POINTS = 128 };

/* What a dataset costs in the file beside its values: header, attributes, chunk index. */
enum { DATASET_BYTES = 8 << 10 };

/* Structures of a point in all processes together. */
static uint64_t items_of(const struct results_column *column, const struct results_layout *layout)
{
    uint64_t axes[2];
    uint64_t items = 1;
    for (uint32_t i = results_column_axes(column, layout, axes); i-- > 0;)
        items *= axes[i];
    return items;
}

static uint64_t row_bytes(const struct results_column *column, uint64_t items)
{
    return items * column->width * results_column_bytes(column);
}

static uint64_t point_bytes(const struct results *results)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < results->columns; i++) {
        const struct results_column *column = results->rows[i].column;
        bytes += row_bytes(column, items_of(column, &results->layout));
    }
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

/* What all processes know alike is written by the first. */
static uint64_t local_items(const struct results *results, const struct results_column *column)
{
    uint64_t items = items_of(column, &results->layout);
    if (by_cube(column))
        return items / results->layout.cubes * results->layout.local_cubes;
    return results->file.group.rank == 0 ? items : 0;
}

void results_rows_init(struct results *results)
{
    uint32_t count;
    const struct results_column *columns = results_columns(&count);
    results->rows = memory_new(count, sizeof *results->rows);
    for (uint32_t i = 0; i < count; i++)
        if (results_column_wanted(&columns[i], &results->layout))
            results->rows[results->columns++].column = &columns[i];
    results->batch = batch_of(results);
    for (uint32_t i = 0; i < results->columns; i++) {
        struct results_rows *rows = &results->rows[i];
        rows->dataset = -1;
        rows->items = local_items(results, rows->column);
        rows->values = memory_new(results->batch, row_bytes(rows->column, rows->items));
    }
}

void results_rows_fini(struct results *results)
{
    for (uint32_t i = 0; i < results->columns; i++)
        memory_free(results->rows[i].values);
    memory_free(results->rows);
}

/* The structures of a point that a column reads: `stride` bytes apart. */
struct source {
    const void *base;
    size_t stride;
};

static void find_sources(const struct results_point *point, const struct cube_footprint *cubes,
                         struct source sources[COLUMN_SOURCES])
{
    sources[FROM_POINT] = (struct source){point, sizeof *point};
    sources[FROM_GROUP] = (struct source){point->group_latency_ps, sizeof(uint64_t)};
    sources[FROM_CUBE] = (struct source){point->cubes, sizeof *point->cubes};
    sources[FROM_CUBE_FOOTPRINT] = (struct source){cubes, sizeof *cubes};
    sources[FROM_PE] = (struct source){point->pe_results, sizeof *point->pe_results};
    sources[FROM_PE_SUMMARY] = sources[FROM_PE];
    sources[FROM_PE_FOOTPRINT] = (struct source){point->footprints, sizeof *point->footprints};
}

static void copy_text(char *to, uint32_t bytes, const char *from)
{
    memset(to, 0, bytes);
    if (from != NULL)
        memcpy(to, from, strnlen(from, bytes - 1));
}

static void copy_row(struct results_rows *rows, struct source source, uint32_t at)
{
    const struct results_column *column = rows->column;
    uint32_t bytes = results_column_bytes(column);
    char *to = (char *)rows->values + at * row_bytes(column, rows->items);
    for (uint64_t i = 0; i < rows->items; i++) {
        const char *from = (const char *)source.base + i * source.stride + column->offset;
        if (column->type.kind == HDF5_TEXT)
            copy_text(to, bytes, *(const char *const *)(const void *)from);
        else
            memcpy(to, from, (size_t)bytes * column->width);
        to += (size_t)bytes * column->width;
    }
}

static void copy_point(struct results *results, const struct results_point *point)
{
    const struct results_layout *layout = &results->layout;
    struct cube_footprint *cubes = memory_new(layout->local_cubes, sizeof *cubes);
    for (uint32_t i = 0; i < layout->local_cubes; i++)
        cubes[i] = cube_footprint_of(point->footprints + (size_t)i * layout->pes, layout);
    struct source sources[COLUMN_SOURCES];
    find_sources(point, cubes, sources);
    for (uint32_t i = 0; i < results->columns; i++)
        copy_row(&results->rows[i], sources[results->rows[i].column->source], results->waiting);
    memory_free(cubes);
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
    struct hdf5_shape shape = {.rank = 1};
    uint64_t axes[2];
    uint32_t count = results_column_axes(column, &results->layout, axes);
    shape.dims[0] = results->written + results->waiting;
    shape.dims_max[0] = results->layout.points;
    shape.chunk[0] = results->batch;
    for (uint32_t i = 0; i < count; i++)
        shape.dims[shape.rank++] = axes[i];
    if (column->last_axis != NULL)
        shape.dims[shape.rank++] = column->width;
    for (uint32_t i = 1; i < shape.rank; i++)
        shape.dims_max[i] = shape.chunk[i] = shape.dims[i];
    return shape;
}

/* This process's part of the waiting points. */
static struct hdf5_box box_of(const struct results *results, const struct results_rows *rows,
                              const struct hdf5_shape *shape)
{
    struct hdf5_box box = {{0}, {0}};
    if (rows->items == 0)
        return box;
    memcpy(box.count, shape->dims, sizeof box.count);
    box.start[0] = results->written;
    box.count[0] = results->waiting;
    if (by_cube(rows->column)) {
        box.start[1] = results->layout.first_cube;
        box.count[1] = results->layout.local_cubes;
    }
    return box;
}

static bool make_dataset(struct results *results, struct results_rows *rows,
                         const struct hdf5_shape *shape)
{
    const struct results_column *column = rows->column;
    rows->dataset = hdf5_dataset_new(results->points_group, column->name, &column->type, shape,
                                     column->units, column->description);
    return rows->dataset >= 0 &&
           (column->last_axis == NULL ||
            hdf5_attribute_names(rows->dataset, "last_axis", column->last_axis, column->width));
}

/* Makes the dataset or lets it grow. */
static bool extend_rows(struct results *results, struct results_rows *rows)
{
    struct hdf5_shape shape = shape_of(results, rows->column);
    return rows->dataset < 0 ? make_dataset(results, rows, &shape)
                             : hdf5_dataset_extend(rows->dataset, shape.dims);
}

static bool write_rows(const struct results *results, const struct results_rows *rows)
{
    struct hdf5_shape shape = shape_of(results, rows->column);
    struct hdf5_box box = box_of(results, rows, &shape);
    return hdf5_dataset_write(rows->dataset, &rows->column->type, &box, rows->values);
}

/* What the waiting points may take in the file, badly compressed. */
static uint64_t flush_bytes(const struct results *results)
{
    uint64_t bytes = results->batch * point_bytes(results);
    return bytes + bytes / 64 + (uint64_t)results->columns * DATASET_BYTES;
}

static bool write_all(struct results *results, struct error *err)
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
        if (!results_file_agree(file, write_rows(results, &results->rows[i]), err))
            return false;
    return true;
}

bool results_rows_flush(struct results *results, struct error *err)
{
    if (results->waiting == 0)
        return true;
    if (!write_all(results, err))
        return false;
    results->written += results->waiting;
    results->waiting = 0;
    return true;
}
