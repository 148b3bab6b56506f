#include "results/results_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "results/results_hdf5.h"

/* Space is asked for in steps, so that small writes ask rarely. */
#define RESERVE_STEP_BYTES (UINT64_C(256) << 10)

/* Where HDF5 fails in one process, the others may be waiting for it inside of HDF5. */
enum { PATIENCE_S = 10 };

static bool fail(const struct results_file *file, const char *why, struct error *err)
{
    return error_set(err, ERROR_FAILED, "cannot write %s: %s", file->target.path, why);
}

/* The first writer makes the file, the others open the same one: who cannot says so here, before
 * all are inside a collective operation. */
static bool open_on_all(struct results_file *file, const char *path, struct error *err)
{
    struct replacement_token token = {{0}};
    if (file->writers.rank == 0)
        replacement_begin(&file->target, path, &token, err);
    if (!comm_agree(&file->writers, err))
        return false;
    comm_broadcast(&file->writers, &token, sizeof token);
    if (file->writers.rank != 0)
        replacement_join(&file->target, path, &token, err);
    return comm_agree(&file->writers, err);
}

bool results_file_create(struct results_file *file, const struct comm *writers, const char *path,
                         struct error *err)
{
    *file =
        (struct results_file){.writers = *writers, .target = {.folder = -1, .fd = -1}, .hdf5 = -1};
    if (!open_on_all(file, path, err))
        return false;
    hdf5_start();
    file->hdf5 = hdf5_file_create(writers, replacement_open_name(&file->target));
    return results_file_agree(file, file->hdf5 >= 0, err);
}

/* 0, or the errno of why the file cannot have `bytes`. */
static int reserve_to(const struct results_file *file, uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        bytes > limit.rlim_cur)
        return EFBIG;
    int status;
    do
        status = fallocate(file->target.fd, FALLOC_FL_KEEP_SIZE, (off_t)file->reserved,
                           (off_t)(bytes - file->reserved));
    while (status != 0 && errno == EINTR);
    if (status == 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
        return status == 0 ? 0 : errno;
    struct statvfs disk; /* no reservations here: see at least whether there is room */
    if (fstatvfs(file->target.fd, &disk) == 0 &&
        (bytes - file->reserved) / disk.f_frsize >= disk.f_bavail)
        return ENOSPC;
    return 0;
}

static void reserve(struct results_file *file, uint64_t bytes, struct error *err)
{
    struct stat status;
    uint64_t end = hdf5_file_bytes(file->hdf5);
    if (fstat(file->target.fd, &status) == 0 && (uint64_t)status.st_size > end)
        end = (uint64_t)status.st_size;
    end += bytes;
    if (end <= file->reserved)
        return;
    end += RESERVE_STEP_BYTES - end % RESERVE_STEP_BYTES;
    int fault = reserve_to(file, end);
    if (fault != 0)
        fail(file, strerror(fault), err);
    else
        file->reserved = end;
}

bool results_file_reserve(struct results_file *file, uint64_t bytes, struct error *err)
{
    if (file->writers.rank == 0 && err->code == ERROR_NONE)
        reserve(file, bytes, err);
    return comm_agree(&file->writers, err);
}

/* HDF5 does not tell why a write failed. */
static const char *guess_why(const struct results_file *file)
{
    struct statvfs disk;
    if (fstatvfs(file->target.fd, &disk) == 0 && disk.f_bavail == 0)
        return strerror(ENOSPC);
    return "writing to the file failed";
}

/* The others will never learn of it: this process tells, and ends them. */
static _Noreturn void end_alone(struct results_file *file, const struct error *err)
{
    fprintf(stderr, "ahbm-pdes: error: %s\n", err->text);
    replacement_end(&file->target);
    MPI_Abort(MPI_COMM_WORLD, (int)err->code);
    abort();
}

bool results_file_agree(struct results_file *file, bool good, struct error *err)
{
    if (!good)
        fail(file, guess_why(file), err);
    bool alone, agreed = comm_agree_within(&file->writers, PATIENCE_S, err, &alone);
    if (alone)
        end_alone(file, err);
    return agreed;
}

/* By the first writer. */
static bool complete(struct results_file *file, const struct results_completion *completion,
                     struct error *err)
{
    file->reserved = 0; /* closing may have given back what was beyond the end */
    file->hdf5 = hdf5_file_open_alone(replacement_open_name(&file->target));
    if (file->hdf5 < 0)
        return fail(file, guess_why(file), err);
    reserve(file, completion->bytes, err);
    bool good = err->code == ERROR_NONE && completion->write(file->hdf5, completion->context);
    good = hdf5_file_close(file->hdf5) && good;
    file->hdf5 = -1;
    return err->code == ERROR_NONE && (good || fail(file, guess_why(file), err));
}

static void publish(struct results_file *file, struct error *err)
{
    if (hdf5_file_check(replacement_open_name(&file->target)))
        replacement_publish(&file->target, err);
    else
        fail(file, "the file written cannot be read back", err);
}

bool results_file_finish(struct results_file *file, const struct results_completion *completion,
                         struct error *err)
{
    if (!results_file_agree(file, hdf5_file_flush(file->hdf5), err))
        return false;
    bool good = hdf5_file_close(file->hdf5);
    file->hdf5 = -1;
    if (!results_file_agree(file, good, err))
        return false;
    if (file->writers.rank == 0 && complete(file, completion, err))
        publish(file, err);
    return comm_agree(&file->writers, err);
}

void results_file_drop(struct results_file *file)
{
    replacement_end(&file->target);
    file->hdf5 = -1;
}
