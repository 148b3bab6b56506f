/* The output tensors: one dataset per point, written box by box. */
#include <stdio.h>
#include <string.h>

#include "results/results_hdf5.h"
#include "results/results_internal.h"

enum { AXES = 4, CHUNK_HEADS = 8, CHUNK_POSITIONS = 64 };

/* What a dataset costs in the file beside its values. */
enum { DATASET_BYTES = 32 << 10 };

static const struct hdf5_type element = {HDF5_F32, 0, 0, NULL};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct hdf5_shape shape_of(const uint64_t dims[AXES])
{
    struct hdf5_shape shape = {.rank = AXES};
    memcpy(shape.dims, dims, sizeof shape.dims);
    memcpy(shape.dims_max, dims, sizeof shape.dims_max);
    shape.chunk[0] = 1;
    shape.chunk[1] = least(dims[1], CHUNK_HEADS);
    shape.chunk[2] = least(dims[2], CHUNK_POSITIONS);
    shape.chunk[3] = dims[3];
    return shape;
}

static bool make_dataset(struct results *results, const struct hdf5_shape *shape)
{
    char name[32];
    uint64_t number = results->written + results->waiting;
    snprintf(name, sizeof name, "point_%06llu", (unsigned long long)number);
    if (results->output_group < 0)
        results->output_group = hdf5_group_new(results->file.hdf5, "output");
    results->output = hdf5_dataset_new(
        results->output_group, name, &element, shape, "1",
        "the output O as computed, [request, query head, position, dim], bf16 values as f32; may "
        "differ in the last bit between types of processor");
    return results->output >= 0;
}

/* Of the writers. */
static void open_dataset(struct results *results, const uint64_t dims[AXES], struct error *err)
{
    struct hdf5_shape shape = shape_of(dims);
    uint64_t bytes = sizeof(float);
    for (int i = 0; i < AXES; i++)
        bytes *= (dims[i] + shape.chunk[i] - 1) / shape.chunk[i] * shape.chunk[i];
    if (results_file_reserve(&results->file, bytes + bytes / 64 + DATASET_BYTES, err))
        results_file_agree(&results->file, make_dataset(results, &shape), err);
}

bool results_output_open(struct results *results, const uint64_t dims[4], struct error *err)
{
    if (results->team.writes)
        open_dataset(results, dims, err);
    return comm_agree(&results->team.all, err);
}

/* Of the writers, whose first is process 0. */
static void put(struct results *results, const uint64_t start[AXES], const uint64_t count[AXES],
                const float *data, struct error *err)
{
    struct hdf5_box box = {{0}, {0}};
    if (results->file.writers.rank == 0) {
        memcpy(box.start, start, sizeof box.start);
        memcpy(box.count, count, sizeof box.count);
    }
    results_file_agree(&results->file, hdf5_dataset_write(results->output, &element, &box, data),
                       err);
}

bool results_output_put(struct results *results, const uint64_t start[4], const uint64_t count[4],
                        const float *data, struct error *err)
{
    if (results->team.writes)
        put(results, start, count, data, err);
    return comm_agree(&results->team.all, err);
}

void results_output_close(struct results *results)
{
    if (results->output >= 0)
        hdf5_dataset_close(results->output);
    results->output = -1;
}
