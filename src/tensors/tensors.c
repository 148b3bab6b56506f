#include "tensors/tensors.h"

#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/results_hdf5.h"
#include "support/bf16.h"
#include "support/input.h"
#include "support/memory.h"

enum { AXES = 4, BLOCK_ELEMENTS = 1 << 18 };

/* A chunk is decoded whole, and kept while its rows are read. */
#define CHUNK_BYTES_MAX (UINT64_C(64) << 20)

static const char *const names[TENSORS_IN_FILE] = {"Q", "K", "V"};

struct dataset {
    hid_t id;
    hsize_t dims[AXES];
    bool bits;      /* bf16 as integers */
    uint64_t chunk; /* bytes, decoded; 0: its numbers lie in the file as they are */
};

struct tensors {
    char *path;
    hid_t file;
    struct dataset dataset[TENSORS_IN_FILE];
    float *numbers; /* converts one read */
    uint64_t numbers_room;
};

static bool known_type(struct dataset *dataset)
{
    hid_t type = H5Dget_type(dataset->id);
    H5T_class_t class = H5Tget_class(type);
    size_t bytes = H5Tget_size(type);
    dataset->bits = class == H5T_INTEGER && bytes == 2 && H5Tget_sign(type) == H5T_SGN_NONE;
    H5Tclose(type);
    return dataset->bits || (class == H5T_FLOAT && (bytes == 2 || bytes == 4 || bytes == 8));
}

static bool has_axes(struct dataset *dataset)
{
    hid_t space = H5Dget_space(dataset->id);
    bool good = H5Sget_simple_extent_ndims(space) == AXES &&
                H5Sget_simple_extent_dims(space, dataset->dims, NULL) == AXES;
    H5Sclose(space);
    return good;
}

/* Whether HDF5 itself has all of its filters: it would load others from wherever it is told. */
static bool has_filters(hid_t creation)
{
    int count = H5Pget_nfilters(creation);
    for (int i = 0; i < count; i++) {
        unsigned flags, config;
        size_t values = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(creation, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        if (filter < 0 || filter >= H5Z_FILTER_RESERVED || H5Zfilter_avail(filter) <= 0)
            return false;
    }
    return count >= 0;
}

static uint64_t chunk_bytes(hid_t creation, size_t element)
{
    hsize_t dims[AXES];
    uint64_t bytes = element;
    if (H5Pget_chunk(creation, AXES, dims) != AXES)
        return UINT64_MAX;
    for (int axis = 0; axis < AXES; axis++)
        if (__builtin_mul_overflow(bytes, dims[axis], &bytes))
            return UINT64_MAX;
    return bytes;
}

/* Whether numbers that lie in the file as they are do so in the length that the axes tell: HDF5
 * reads beyond its buffers otherwise. Those that were never written lie nowhere. */
static bool is_whole(const struct dataset *dataset, H5D_layout_t layout, size_t element)
{
    uint64_t bytes = element;
    for (int axis = 0; axis < AXES; axis++)
        if (__builtin_mul_overflow(bytes, dataset->dims[axis], &bytes))
            return false;
    uint64_t stored = H5Dget_storage_size(dataset->id);
    bool nowhere = layout == H5D_CONTIGUOUS && H5Dget_offset(dataset->id) == HADDR_UNDEF;
    return stored == bytes || (nowhere && stored == 0);
}

/* How the dataset is stored: what is wrong with that, and what its reading needs. */
static const char *storage_fault(struct dataset *dataset, hid_t creation, size_t element)
{
    H5D_layout_t layout = H5Pget_layout(creation);
    if (layout == H5D_VIRTUAL)
        return "it is virtual: its numbers lie in other files";
    if (layout < 0)
        return "its storage cannot be read";
    if (layout == H5D_CONTIGUOUS && H5Pget_external_count(creation) != 0)
        return "its numbers lie in other files (external storage)";
    if (layout != H5D_CHUNKED)
        return is_whole(dataset, layout, element) ? NULL : "its size is not that of its axes";
    if (!has_filters(creation))
        return "it has a filter that is not one of HDF5's own (gzip, szip, shuffle, ...)";
    dataset->chunk = chunk_bytes(creation, element);
    return dataset->chunk <= CHUNK_BYTES_MAX ? NULL : "a chunk of it is more than 64 MiB";
}

static const char *check_storage(struct dataset *dataset)
{
    hid_t type = H5Dget_type(dataset->id), creation = H5Dget_create_plist(dataset->id);
    const char *fault = creation < 0 ? "its storage cannot be read"
                                     : storage_fault(dataset, creation, H5Tget_size(type));
    H5Tclose(type);
    H5Pclose(creation);
    return fault;
}

/* Opens it again, with room for a chunk. */
static bool keep_chunk(struct tensors *tensors, uint32_t which)
{
    enum { SLOTS = 521 };
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    if (tensors->dataset[which].chunk > 1 << 20)
        H5Pset_chunk_cache(access, SLOTS, tensors->dataset[which].chunk, 1.0);
    H5Dclose(tensors->dataset[which].id);
    tensors->dataset[which].id = H5Dopen2(tensors->file, names[which], access);
    H5Pclose(access);
    return tensors->dataset[which].id >= 0;
}

/* Whether the name stands for an object of this very file. */
static bool is_link(const struct tensors *tensors, uint32_t which)
{
    H5L_info_t info;
    return H5Lget_info(tensors->file, names[which], &info, H5P_DEFAULT) >= 0 &&
           info.type != H5L_TYPE_HARD;
}

static const char *dataset_fault(struct tensors *tensors, uint32_t which)
{
    struct dataset *dataset = &tensors->dataset[which];
    if (is_link(tensors, which))
        return "it is a link: the dataset itself is expected";
    dataset->id = H5Dopen2(tensors->file, names[which], H5P_DEFAULT);
    if (dataset->id < 0)
        return "there is no such dataset";
    if (!known_type(dataset))
        return "its type is none of f16, f32, f64 and u16 (the bits of bf16)";
    if (!has_axes(dataset))
        return "it has not the four axes [request, head, token, dim]";
    const char *fault = check_storage(dataset);
    return fault != NULL || keep_chunk(tensors, which) ? fault : "it cannot be opened";
}

static bool open_dataset(struct tensors *tensors, uint32_t which, struct error *err)
{
    const char *fault = dataset_fault(tensors, which);
    return fault == NULL || error_set(err, ERROR_USAGE, "--tensors: %s: dataset %s: %s",
                                      tensors->path, names[which], fault);
}

static bool open_file(struct tensors *tensors, struct error *err)
{
    if (!input_identify(tensors->path, NULL, err))
        return error_context(err, "--tensors: %s", tensors->path);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_file_locking(access, false, true);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    tensors->file = H5Fopen(tensors->path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return tensors->file >= 0 ||
           error_set(err, ERROR_USAGE, "--tensors: %s: is no HDF5 file that can be read",
                     tensors->path);
}

struct tensors *tensors_open(const char *path, struct error *err)
{
    struct tensors *tensors = memory_new(1, sizeof *tensors);
    hdf5_start();
    tensors->path = memory_copy_text(path);
    tensors->file = -1;
    for (uint32_t i = 0; i < TENSORS_IN_FILE; i++)
        tensors->dataset[i].id = -1;
    bool good = open_file(tensors, err);
    for (uint32_t i = 0; i < TENSORS_IN_FILE; i++)
        good = good && open_dataset(tensors, i, err);
    if (good)
        return tensors;
    tensors_close(tensors);
    return NULL;
}

void tensors_close(struct tensors *tensors)
{
    for (uint32_t i = 0; i < TENSORS_IN_FILE; i++)
        if (tensors->dataset[i].id >= 0)
            H5Dclose(tensors->dataset[i].id);
    if (tensors->file >= 0)
        H5Fclose(tensors->file);
    memory_free(tensors->numbers);
    memory_free(tensors->path);
    memory_free(tensors);
}

static void print_dims(char text[96], const uint64_t dims[AXES])
{
    snprintf(text, 96, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", dims[0], dims[1],
             dims[2], dims[3]);
}

static bool check_dims(const struct tensors *tensors, uint32_t which, const uint64_t want[AXES],
                       struct error *err)
{
    uint64_t have[AXES];
    bool same = true;
    for (int axis = 0; axis < AXES; axis++) {
        have[axis] = tensors->dataset[which].dims[axis];
        same &= have[axis] == want[axis];
    }
    char is[96], needed[96];
    print_dims(is, have);
    print_dims(needed, want);
    return same ||
           error_set(err, ERROR_USAGE,
                     "--tensors: %s: dataset %s is %s, but this run needs [requests, %s, "
                     "dim] = %s",
                     tensors->path, names[which], is,
                     which == 0 ? "query heads, query positions" : "KV heads, context", needed);
}

bool tensors_check(const struct tensors *tensors, const struct tensors_shape *shape,
                   struct error *err)
{
    const uint64_t q[AXES] = {shape->requests, shape->query_heads, shape->query_len,
                              shape->head_dim};
    const uint64_t kv[AXES] = {shape->requests, shape->kv_heads, shape->context, shape->head_dim};
    return check_dims(tensors, 0, q, err) && check_dims(tensors, 1, kv, err) &&
           check_dims(tensors, 2, kv, err);
}

static float *numbers_of(struct tensors *tensors, uint64_t elements)
{
    if (elements > tensors->numbers_room) {
        tensors->numbers = memory_resize(tensors->numbers, elements, sizeof *tensors->numbers);
        tensors->numbers_room = elements;
    }
    return tensors->numbers;
}

/* Reads the selection of `space` as what it is: bits as they are, numbers as f32. */
static bool read_selected(struct tensors *tensors, const struct dataset *dataset, hid_t space,
                          uint64_t elements, uint16_t *out)
{
    hsize_t size = elements;
    hid_t memory = H5Screate_simple(1, &size, NULL);
    hid_t type = dataset->bits ? H5T_NATIVE_UINT16 : H5T_NATIVE_FLOAT;
    float *numbers = dataset->bits ? NULL : numbers_of(tensors, elements);
    void *to = dataset->bits ? (void *)out : (void *)numbers;
    bool good = H5Dread(dataset->id, type, memory, space, H5P_DEFAULT, to) >= 0;
    H5Sclose(memory);
    for (uint64_t i = 0; good && !dataset->bits && i < elements; i++)
        out[i] = bf16_of_f32(numbers[i]);
    return good;
}

bool tensors_read(struct tensors *tensors, uint32_t which, uint64_t request, uint64_t head,
                  uint64_t token, uint64_t step, uint64_t count, uint16_t *out, struct error *err)
{
    const struct dataset *dataset = &tensors->dataset[which];
    hsize_t start[AXES] = {request, head, token, 0};
    hsize_t stride[AXES] = {1, 1, step > 0 ? step : 1, 1};
    hsize_t size[AXES] = {1, 1, count, dataset->dims[AXES - 1]};
    hid_t space = H5Dget_space(dataset->id);
    bool good = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, size, NULL) >= 0 &&
                read_selected(tensors, dataset, space, count * size[AXES - 1], out);
    H5Sclose(space);
    return good || error_set(err, ERROR_FAILED, "cannot read dataset %s of %s", names[which],
                             tensors->path);
}

/* The rows of a dataset, counted over requests, heads and tokens. */
static bool check_rows(struct tensors *tensors, uint32_t which, uint64_t row, uint64_t count,
                       uint16_t *bits, struct error *err)
{
    const hsize_t *dims = tensors->dataset[which].dims;
    uint64_t slab = row / dims[2], token = row % dims[2];
    uint64_t request = slab / dims[1], head = slab % dims[1];
    if (!tensors_read(tensors, which, request, head, token, 1, count, bits, err))
        return false;
    for (uint64_t i = 0; i < count * dims[3]; i++)
        if (!isfinite(f32_of_bf16(bits[i])))
            return error_set(err, ERROR_USAGE,
                             "--tensors: %s: dataset %s: element [%" PRIu64 ", %" PRIu64
                             ", %" PRIu64 ", %" PRIu64 "] is not a finite number in bf16",
                             tensors->path, names[which], request, head,
                             (uint64_t)(token + i / dims[3]), (uint64_t)(i % dims[3]));
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool tensors_check_finite(struct tensors *tensors, uint32_t which, uint32_t part, uint32_t parts,
                          struct error *err)
{
    const hsize_t *dims = tensors->dataset[which].dims;
    uint64_t rows = dims[0] * dims[1] * dims[2], end = rows * (part + UINT64_C(1)) / parts;
    uint64_t block = dims[3] < BLOCK_ELEMENTS ? BLOCK_ELEMENTS / dims[3] : 1;
    uint16_t *bits = memory_new(block, dims[3] * sizeof *bits);
    bool good = true;
    for (uint64_t row = rows * part / parts, count; good && row < end; row += count) {
        count = least(least(block, end - row), dims[2] - row % dims[2]);
        good = check_rows(tensors, which, row, count, bits, err);
    }
    memory_free(bits);
    return good;
}

/* Of numbers that lie there as they are, the first row and the last. */
static bool check_ends(struct tensors *tensors, uint32_t which, struct error *err)
{
    const hsize_t *dims = tensors->dataset[which].dims;
    uint64_t rows = dims[0] * dims[1] * dims[2];
    if (rows == 0 || dims[3] == 0)
        return true;
    uint16_t *bits = memory_new(dims[3], sizeof *bits);
    bool good = check_rows(tensors, which, 0, 1, bits, err) &&
                check_rows(tensors, which, rows - 1, 1, bits, err);
    memory_free(bits);
    return good;
}

uint64_t tensors_elements(const struct tensors *tensors)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < TENSORS_IN_FILE; i++) {
        const hsize_t *dims = tensors->dataset[i].dims;
        if (tensors->dataset[i].chunk > 0)
            all += dims[0] * dims[1] * dims[2] * dims[3];
    }
    return all;
}

uint64_t tensors_chunk_bytes(const struct tensors *tensors)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < TENSORS_IN_FILE; i++)
        most = tensors->dataset[i].chunk > most ? tensors->dataset[i].chunk : most;
    return most;
}

bool tensors_walk(struct tensors *tensors, struct error *err)
{
    bool good = true;
    for (uint32_t i = 0; good && i < TENSORS_IN_FILE; i++)
        good = tensors->dataset[i].chunk > 0 ? tensors_check_finite(tensors, i, 0, 1, err)
                                             : check_ends(tensors, i, err);
    return good;
}
