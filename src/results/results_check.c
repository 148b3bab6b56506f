/* Reads a file back, whole: every link is followed, every attribute and every chunk read as it is
 * stored, so that checksums are compared and filters run backwards. */
#include <hdf5.h>

#include "results/results_hdf5.h"
#include "support/memory.h"

static hid_t open_file(const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return file;
}

/* What HDF5 has allocated for values of variable length. */
static void free_texts(hid_t type, hid_t space, void *values)
{
    if (H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tis_variable_str(type) > 0)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, values);
}

static herr_t read_attribute(hid_t object, const char *name, const H5A_info_t *info, void *context)
{
    (void)info;
    (void)context;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    void *value = memory_new(count > 0 ? (size_t)count : 1, H5Tget_size(type));
    bool good = count > 0 && H5Aread(attribute, type, value) >= 0;
    if (good)
        free_texts(type, space, value);
    memory_free(value);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return good ? 0 : -1;
}

/* A dataset that is read chunk by chunk. */
struct reader {
    hid_t dataset, type, space;
    int rank;
    hsize_t dims[HDF5_RANK_MAX], chunk[HDF5_RANK_MAX];
    hsize_t at[HDF5_RANK_MAX]; /* where the chunk begins */
    void *values;              /* of a chunk */
};

static bool read_chunk(struct reader *reader)
{
    hsize_t count[HDF5_RANK_MAX];
    for (int i = 0; i < reader->rank; i++) {
        hsize_t left = reader->dims[i] - reader->at[i];
        count[i] = left < reader->chunk[i] ? left : reader->chunk[i];
    }
    H5Sselect_hyperslab(reader->space, H5S_SELECT_SET, reader->at, NULL, count, NULL);
    hid_t memory = H5Screate_simple(reader->rank, count, NULL);
    bool good = H5Dread(reader->dataset, reader->type, memory, reader->space, H5P_DEFAULT,
                        reader->values) >= 0;
    if (good)
        free_texts(reader->type, memory, reader->values);
    H5Sclose(memory);
    return good;
}

/* False when that was the last one. */
static bool next_chunk(struct reader *reader)
{
    for (int i = reader->rank - 1; i >= 0; i--) {
        reader->at[i] += reader->chunk[i];
        if (reader->at[i] < reader->dims[i])
            return true;
        reader->at[i] = 0;
    }
    return false;
}

/* Fills in shape and chunks; false when there is nothing that could be read. */
static bool measure(struct reader *reader)
{
    hid_t creation = H5Dget_create_plist(reader->dataset);
    reader->rank = H5Sget_simple_extent_ndims(reader->space);
    bool good = reader->rank > 0 && reader->rank <= HDF5_RANK_MAX &&
                H5Pget_chunk(creation, reader->rank, reader->chunk) == reader->rank &&
                H5Sget_simple_extent_dims(reader->space, reader->dims, NULL) == reader->rank;
    H5Pclose(creation);
    for (int i = 0; good && i < reader->rank; i++)
        good = reader->dims[i] > 0 && reader->chunk[i] > 0;
    return good;
}

static size_t chunk_bytes(const struct reader *reader)
{
    size_t bytes = H5Tget_size(reader->type);
    for (int i = 0; i < reader->rank; i++)
        bytes *= reader->chunk[i];
    return bytes;
}

static bool read_dataset(hid_t dataset)
{
    struct reader reader = {
        .dataset = dataset, .type = H5Dget_type(dataset), .space = H5Dget_space(dataset)};
    bool good = measure(&reader);
    reader.values = memory_new(good ? chunk_bytes(&reader) : 1, 1);
    bool more = good;
    while (more) {
        good = read_chunk(&reader);
        more = good && next_chunk(&reader);
    }
    memory_free(reader.values);
    H5Sclose(reader.space);
    H5Tclose(reader.type);
    return good;
}

static bool read_object(hid_t object)
{
    return H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, read_attribute, NULL) >= 0 &&
           (H5Iget_type(object) != H5I_DATASET || read_dataset(object));
}

static herr_t read_link(hid_t file, const char *name, const H5L_info_t *info, void *context)
{
    (void)info;
    (void)context;
    hid_t object = H5Oopen(file, name, H5P_DEFAULT);
    bool good = object >= 0 && read_object(object);
    H5Oclose(object);
    return good ? 0 : -1;
}

bool hdf5_file_check(const char *path)
{
    hid_t file = open_file(path);
    if (file < 0)
        return false;
    bool good =
        read_object(file) && H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, read_link, NULL) >= 0;
    H5Fclose(file);
    return good;
}
