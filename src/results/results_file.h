/* The life of the output: a temporary file beside it, open to HDF5 on the writers, that becomes the
 * final file when everything in it has been written, read back and synced. Calls are
 * collective over the writers unless said otherwise. */
#ifndef AHBM_RESULTS_FILE_H
#define AHBM_RESULTS_FILE_H

#include "results/replacement.h"
#include "pdes/transport/comm.h"
#include "support/error.h"

struct results_file {
    struct comm writers;
    struct replacement target; /* the first writer's is the owner */
    int64_t hdf5;              /* handle of the file, see results_hdf5.h; negative: not open */
    uint64_t reserved; /* bytes from the start that the disk is known to have (first writer) */
};

/* What the first writer does with the file when the others have closed it: `write` is given the
 * handle and takes at most `bytes` more of the file. */
struct results_completion {
    bool (*write)(int64_t hdf5, const void *context);
    const void *context;
    uint64_t bytes;
};

/* False with `err`: nothing was created. results_file_drop() must be called in any case. */
bool results_file_create(struct results_file *file, const struct comm *writers, const char *path,
                         struct error *err);

/* Makes sure that `bytes` more than now can be written, so that a full disk is told before HDF5
 * meets it. An error already in `err` on any writer is agreed on as well. */
bool results_file_reserve(struct results_file *file, uint64_t bytes, struct error *err);

/* The writers agree whether a write succeeded (`good`). */
bool results_file_agree(struct results_file *file, bool good, struct error *err);

/* Closes, lets the first writer complete the file alone, then checks, syncs and renames. */
bool results_file_finish(struct results_file *file, const struct results_completion *completion,
                         struct error *err);

/* Removes the temporary file, if there still is one, and frees. Not collective. What HDF5 has not
 * written is dropped with its handles: closing them could wait for other processes. */
void results_file_drop(struct results_file *file);

#endif
