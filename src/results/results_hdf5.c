#include "results/results_hdf5.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory.h"

enum { GZIP_LEVEL = 1, COLLECTIVE_BUFFER_BYTES = 1 << 20, CONVERSION_BYTES = 1 << 16 };

void hdf5_start(void)
{
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1); /* which goes before what a program asks for */
    H5dont_atexit();
    H5open();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* Collective buffering bounds ROMIO's memory and lets all processes learn of a failed write:
 * without it a full disk left 4 and 16 processes waiting for each other (measured). */
static MPI_Info new_hints(void)
{
    MPI_Info hints;
    char bytes[16];
    snprintf(bytes, sizeof bytes, "%d", COLLECTIVE_BUFFER_BYTES);
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "romio_cb_write", "enable");
    MPI_Info_set(hints, "romio_ds_write", "disable");
    MPI_Info_set(hints, "cb_buffer_size", bytes);
    return hints;
}

static hid_t access_of(const struct comm *comm)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    MPI_Info hints = new_hints();
    H5Pset_fapl_mpio(access, comm->comm, hints);
    MPI_Info_free(&hints);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_coll_metadata_write(access, true);
    H5Pset_all_coll_metadata_ops(access, true);
    return access;
}

int64_t hdf5_file_create(const struct comm *comm, const char *path)
{
    hid_t access = access_of(comm);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    return file;
}

int64_t hdf5_file_open_alone(const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, access);
    H5Pclose(access);
    return file;
}

bool hdf5_file_flush(int64_t file)
{
    return H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0;
}

bool hdf5_file_close(int64_t file)
{
    return H5Fclose(file) >= 0;
}

uint64_t hdf5_file_bytes(int64_t file)
{
    hsize_t bytes = 0;
    H5Fget_filesize(file, &bytes);
    return bytes;
}

int64_t hdf5_group_new(int64_t parent, const char *name)
{
    return H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

int64_t hdf5_open(int64_t parent, const char *name)
{
    return H5Oopen(parent, name, H5P_DEFAULT);
}

void hdf5_group_close(int64_t group)
{
    H5Gclose(group);
}

/* `native`: as in memory, else as in the file, which is little-endian everywhere. */
static hid_t new_integer(uint32_t bytes, bool native)
{
    switch (bytes) {
    case 1:
        return H5Tcopy(native ? H5T_NATIVE_UINT8 : H5T_STD_U8LE);
    case 2:
        return H5Tcopy(native ? H5T_NATIVE_UINT16 : H5T_STD_U16LE);
    case 4:
        return H5Tcopy(native ? H5T_NATIVE_UINT32 : H5T_STD_U32LE);
    default:
        return H5Tcopy(native ? H5T_NATIVE_UINT64 : H5T_STD_U64LE);
    }
}

static hid_t new_text(void)
{
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    H5Tset_cset(text, H5T_CSET_UTF8);
    return text;
}

static hid_t new_record(const struct hdf5_type *type, bool native)
{
    hid_t record = H5Tcreate(H5T_COMPOUND, type->bytes);
    for (uint32_t i = 0; i < type->members; i++) {
        const struct hdf5_member *member = &type->member[i];
        hid_t integer = new_integer(member->bytes, native);
        H5Tinsert(record, member->name, member->offset, integer);
        H5Tclose(integer);
    }
    return record;
}

static hid_t new_type(const struct hdf5_type *type, bool native)
{
    switch (type->kind) {
    case HDF5_TEXT:
        return new_text();
    case HDF5_RECORD:
        return new_record(type, native);
    case HDF5_U8:
        return new_integer(1, native);
    case HDF5_U32:
        return new_integer(4, native);
    case HDF5_F32:
        return H5Tcopy(native ? H5T_NATIVE_FLOAT : H5T_IEEE_F32LE);
    case HDF5_F64:
        return H5Tcopy(native ? H5T_NATIVE_DOUBLE : H5T_IEEE_F64LE);
    default:
        return new_integer(8, native);
    }
}

/* Takes `space` and `type`. */
static bool write_attribute(hid_t object, const char *name, hid_t space, hid_t type, hid_t memory,
                            const void *value)
{
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = H5Awrite(attribute, memory, value) >= 0;
    good = H5Aclose(attribute) >= 0 && good;
    H5Tclose(type);
    H5Sclose(space);
    return good;
}

bool hdf5_attribute_u32(int64_t object, const char *name, uint32_t value)
{
    return write_attribute(object, name, H5Screate(H5S_SCALAR), new_integer(4, false),
                           H5T_NATIVE_UINT32, &value);
}

bool hdf5_attribute_u64(int64_t object, const char *name, uint64_t value)
{
    return write_attribute(object, name, H5Screate(H5S_SCALAR), new_integer(8, false),
                           H5T_NATIVE_UINT64, &value);
}

bool hdf5_attribute_f64(int64_t object, const char *name, double value)
{
    return write_attribute(object, name, H5Screate(H5S_SCALAR), H5Tcopy(H5T_IEEE_F64LE),
                           H5T_NATIVE_DOUBLE, &value);
}

bool hdf5_attribute_text(int64_t object, const char *name, const char *value)
{
    hid_t type = new_text();
    return write_attribute(object, name, H5Screate(H5S_SCALAR), type, type, &value);
}

static bool write_texts(hid_t object, const char *name, const char **texts, hsize_t count)
{
    hid_t type = new_text();
    return write_attribute(object, name, H5Screate_simple(1, &count, NULL), type, type, texts);
}

bool hdf5_attribute_names(int64_t object, const char *name, const char *(*name_of)(uint32_t),
                          uint32_t count)
{
    const char **names = memory_new(count, sizeof *names);
    for (uint32_t i = 0; i < count; i++)
        names[i] = name_of(i);
    bool good = write_texts(object, name, names, count);
    memory_free(names);
    return good;
}

/* One text per member of a record. */
static bool write_member_units(hid_t dataset, const struct hdf5_type *type)
{
    const char **units = memory_new(type->members, sizeof *units);
    for (uint32_t i = 0; i < type->members; i++)
        units[i] = type->member[i].units;
    bool good = write_texts(dataset, "units", units, type->members);
    memory_free(units);
    return good;
}

static bool describe(hid_t dataset, const struct hdf5_type *type, const char *units,
                     const char *description)
{
    bool good = type->kind == HDF5_RECORD ? write_member_units(dataset, type)
                                          : hdf5_attribute_text(dataset, "units", units);
    return hdf5_attribute_text(dataset, "description", description) && good;
}

static hid_t new_creation(const struct hdf5_shape *shape)
{
    hsize_t chunk[HDF5_RANK_MAX];
    for (uint32_t i = 0; i < shape->rank; i++)
        chunk[i] = shape->chunk[i];
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, (int)shape->rank, chunk);
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, GZIP_LEVEL);
    H5Pset_fletcher32(creation);
    H5Pset_obj_track_times(creation, false);
    return creation;
}

static hid_t new_space(const struct hdf5_shape *shape)
{
    hsize_t dims[HDF5_RANK_MAX], dims_max[HDF5_RANK_MAX];
    for (uint32_t i = 0; i < shape->rank; i++) {
        dims[i] = shape->dims[i];
        dims_max[i] = shape->dims_max[i];
    }
    return H5Screate_simple((int)shape->rank, dims, dims_max);
}

int64_t hdf5_dataset_new(int64_t parent, const char *name, const struct hdf5_type *type,
                         const struct hdf5_shape *shape, const char *units, const char *description)
{
    hid_t creation = new_creation(shape);
    hid_t space = new_space(shape);
    hid_t stored = new_type(type, false);
    hid_t dataset = H5Dcreate2(parent, name, stored, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Tclose(stored);
    H5Sclose(space);
    H5Pclose(creation);
    if (describe(dataset, type, units, description))
        return dataset;
    H5Dclose(dataset);
    return -1;
}

bool hdf5_dataset_extend(int64_t dataset, const uint64_t *dims)
{
    hid_t space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_ndims(space);
    H5Sclose(space);
    hsize_t size[HDF5_RANK_MAX];
    for (int i = 0; i < rank; i++)
        size[i] = dims[i];
    return rank > 0 && H5Dset_extent(dataset, size) >= 0;
}

/* Selects `box` in `space` and makes the space that holds it alone, of the same rank: HDF5 maps
 * boxes of one shape as a whole, others cell by cell. */
static hid_t select_box(hid_t space, const struct hdf5_box *box)
{
    int rank = H5Sget_simple_extent_ndims(space);
    hsize_t start[HDF5_RANK_MAX], count[HDF5_RANK_MAX];
    hsize_t cells = 1;
    for (int i = 0; i < rank; i++) {
        start[i] = box->start[i];
        count[i] = box->count[i];
        cells *= count[i];
    }
    if (cells > 0) {
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        return H5Screate_simple(rank, count, NULL);
    }
    H5Sselect_none(space);
    return H5Screate(H5S_NULL);
}

static hid_t new_transfer(void)
{
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    H5Pset_dxpl_mpio_chunk_opt(transfer, H5FD_MPIO_CHUNK_ONE_IO);
    return transfer;
}

bool hdf5_dataset_write(int64_t dataset, const struct hdf5_type *type, const struct hdf5_box *box,
                        const void *data)
{
    hid_t space = H5Dget_space(dataset);
    hid_t block = select_box(space, box);
    hid_t memory = new_type(type, true);
    hid_t transfer = new_transfer();
    bool good = H5Dwrite(dataset, memory, block, space, transfer, data) >= 0;
    H5Pclose(transfer);
    H5Tclose(memory);
    H5Sclose(block);
    H5Sclose(space);
    return good;
}

bool hdf5_dataset_write_alone(int64_t dataset, const struct hdf5_type *type, const void *data)
{
    hid_t memory = new_type(type, true);
    bool good = H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    H5Tclose(memory);
    return good;
}

void hdf5_dataset_close(int64_t dataset)
{
    H5Dclose(dataset);
}

int64_t hdf5_texts_write(int64_t parent, const char *name, const char *const *texts, uint64_t count,
                         const char *description)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t dims = count;
    hid_t space = H5Screate_simple(1, &dims, NULL), type = new_text();
    H5Pset_chunk(creation, 1, &dims);
    H5Pset_obj_track_times(creation, false);
    hid_t dataset = H5Dcreate2(parent, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    /* Buffers of ours: HDF5 1.10 harms the heap when it gets none of its own for texts. */
    void *buffers = memory_new(2, CONVERSION_BYTES);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    bool good = H5Pset_buffer(transfer, CONVERSION_BYTES, buffers,
                              (char *)buffers + CONVERSION_BYTES) >= 0 &&
                H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, transfer, texts) >= 0 &&
                hdf5_attribute_text(dataset, "units", "1") &&
                hdf5_attribute_text(dataset, "description", description);
    H5Pclose(transfer);
    memory_free(buffers);
    H5Pclose(creation);
    H5Tclose(type);
    H5Sclose(space);
    if (good)
        return dataset;
    H5Dclose(dataset);
    return -1;
}
