/* The life of the output: a temporary file beside it, open to HDF5 on all processes, that becomes
 * the final file by a rename when everything in it has been written, read back and synced. */
#ifndef AHBM_IO_RESULTS_FILE_H
#define AHBM_IO_RESULTS_FILE_H

#include "pdes/group.h"
#include "support/error.h"

struct results_file {
    struct group group;
    char *path;
    char *temporary;
    int64_t hdf5;      /* handle of the file, see results_hdf5.h */
    int fd;            /* of rank 0 on the temporary file, else -1 */
    uint64_t reserved; /* bytes from the start that the disk is known to have (rank 0) */
};

/* Collective. False with `err`: nothing was created. */
bool results_file_create(struct results_file *file, const struct group *group, const char *path,
                         struct error *err);

/* Makes sure that `bytes` more than now can be written, so that a full disk is told before HDF5
 * meets it (with processes that disagree). An error already in `err` on any process is agreed on as
 * well. Collective. */
bool results_file_reserve(struct results_file *file, uint64_t bytes, struct error *err);

/* All processes agree whether a write succeeded (`good`). Collective. */
bool results_file_agree(struct results_file *file, bool good, struct error *err);

/* Closes, checks, syncs and renames. Collective; results_file_drop() must still be called. */
bool results_file_finish(struct results_file *file, struct error *err);

/* Closes the file of a run that failed elsewhere, and drops it. Collective. */
void results_file_abandon(struct results_file *file);

/* Removes the temporary file, if it still is one, and frees. Not collective. What HDF5 has not
 * written is dropped with its handles: closing them could wait for other processes. */
void results_file_drop(struct results_file *file);

#endif
