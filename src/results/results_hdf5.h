/* What the results need of HDF5. Its library is known here, in results_check.c and in src/tensors.
 *
 * A handle is negative when its object could not be made; calls on a negative handle fail. All
 * calls but those said to be local are collective over the file's processes. */
#ifndef AHBM_RESULTS_HDF5_H
#define AHBM_RESULTS_HDF5_H

#include <stdbool.h>
#include <stdint.h>

#include "pdes/transport/comm.h"

enum { HDF5_RANK_MAX = 4 };

enum hdf5_kind { HDF5_U8, HDF5_U32, HDF5_U64, HDF5_F32, HDF5_F64, HDF5_TEXT, HDF5_RECORD };

struct hdf5_member {
    const char *name;
    const char *units;
    uint32_t offset;
    uint32_t bytes; /* of an unsigned integer: 1, 2, 4 or 8 */
};

struct hdf5_type {
    enum hdf5_kind kind;
    uint32_t bytes;                   /* of a record */
    uint32_t members;                 /* of a record */
    const struct hdf5_member *member; /* [members] */
};

struct hdf5_shape {
    uint32_t rank;
    uint64_t dims[HDF5_RANK_MAX];
    uint64_t dims_max[HDF5_RANK_MAX];
    uint64_t chunk[HDF5_RANK_MAX];
};

/* A box of a dataset; with count[0] == 0 a process takes part without data. */
struct hdf5_box {
    uint64_t start[HDF5_RANK_MAX];
    uint64_t count[HDF5_RANK_MAX];
};

/* Silences the library, keeps it from locking files, whatever HDF5_USE_FILE_LOCKING says, and from
 * writing by itself at exit; when called before MPI_Init(), from writing in MPI_Finalize() too. To
 * be called before anything else of HDF5. Local; more calls do nothing. */
void hdf5_start(void);

/* Replaces `path`. */
int64_t hdf5_file_create(const struct comm *comm, const char *path);
/* Opens what was written, for this process alone: the calls on it are local. Only so can texts of
 * datasets be written (hdf5_texts_write()), which parallel HDF5 refuses. */
int64_t hdf5_file_open_alone(const char *path);
bool hdf5_file_flush(int64_t file);
bool hdf5_file_close(int64_t file);
/* Its size once all is written; 0 when HDF5 does not know: of an open file that was written to
 * through MPI. Local. */
uint64_t hdf5_file_bytes(int64_t file);
/* Whether all groups, attributes and values of the closed file can be read. Local. */
bool hdf5_file_check(const char *path);

int64_t hdf5_group_new(int64_t parent, const char *name);
/* A group or dataset that is there. */
int64_t hdf5_open(int64_t parent, const char *name);
void hdf5_group_close(int64_t group);

/* Attributes of a file (its root), group or dataset. Texts are UTF-8 of variable length. */
bool hdf5_attribute_u32(int64_t object, const char *name, uint32_t value);
bool hdf5_attribute_u64(int64_t object, const char *name, uint64_t value);
bool hdf5_attribute_f64(int64_t object, const char *name, double value);
bool hdf5_attribute_text(int64_t object, const char *name, const char *value);
/* An array of texts: name_of(0) to name_of(count - 1). */
bool hdf5_attribute_names(int64_t object, const char *name, const char *(*name_of)(uint32_t),
                          uint32_t count);

/* Compressed chunks with checksums. The attributes `units` and `description` come with it; those of
 * a record's units are its members'. */
int64_t hdf5_dataset_new(int64_t parent, const char *name, const struct hdf5_type *type,
                         const struct hdf5_shape *shape, const char *units,
                         const char *description);
bool hdf5_dataset_extend(int64_t dataset, const uint64_t *dims);
/* `data` holds the box alone, last axis fastest. */
bool hdf5_dataset_write(int64_t dataset, const struct hdf5_type *type, const struct hdf5_box *box,
                        const void *data);
/* All of it, by a process that has the file alone. */
bool hdf5_dataset_write_alone(int64_t dataset, const struct hdf5_type *type, const void *data);
void hdf5_dataset_close(int64_t dataset);

/* One dimension of `count` texts; in one chunk, without filters or checksums, as the values lie
 * elsewhere in the file. Only alone. The dataset, to be closed. */
int64_t hdf5_texts_write(int64_t parent, const char *name, const char *const *texts, uint64_t count,
                         const char *description);

/* ---- dimension scales, as HDF5's specification of them says (results_scales.c) ---- */

/* An axis of a dataset that has a scale. */
struct hdf5_axis {
    uint64_t dataset; /* hdf5_reference() */
    int axis;
};

/* Makes `dataset` the scale called `name`: the coordinate of an axis of other datasets. */
bool hdf5_scale_make(int64_t dataset, const char *name);
/* The scales of all axes of `dataset`, in order. Each must hear of it by hdf5_scale_used(), once.
 */
bool hdf5_scales_attach(int64_t dataset, const int64_t *scales, uint32_t rank);
bool hdf5_scale_used(int64_t scale, const struct hdf5_axis *axes, uint32_t count);
/* Names the dataset within its file; 0: it failed. */
uint64_t hdf5_reference(int64_t dataset);

#endif
