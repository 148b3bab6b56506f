#include "io/results_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "io/results_hdf5.h"
#include "support/memory.h"

/* Space is asked for in steps, so that small writes ask rarely. */
#define RESERVE_STEP_BYTES (UINT64_C(256) << 10)

static bool fail(const struct results_file *file, const char *why, struct error *err)
{
    return error_set(err, ERROR_FAILED, "cannot write %s: %s", file->path, why);
}

/* What stands under the final name may be replaced: a file. The names of devices and open files are
 * nothing to rename to, whatever they lead to. */
static bool may_replace(const struct results_file *file, struct error *err)
{
    struct stat status;
    if (strncmp(file->path, "/dev/", 5) == 0 || strncmp(file->path, "/proc/", 6) == 0)
        return fail(file, "not a regular file", err);
    if (lstat(file->path, &status) == 0 && S_ISLNK(status.st_mode))
        return fail(file, "a link that leads nowhere", err);
    if (stat(file->path, &status) != 0 || S_ISREG(status.st_mode))
        return true;
    return fail(file, S_ISDIR(status.st_mode) ? strerror(EISDIR) : "not a regular file", err);
}

/* Whether the open file still has the temporary name: the run that had it may just have ended. */
static bool has_name(const struct results_file *file)
{
    struct stat open_file, named;
    return fstat(file->fd, &open_file) == 0 && stat(file->temporary, &named) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

/* The temporary file is locked for as long as the run lives, so that two runs cannot write to one
 * output; what a dead run left is taken over. A file system without locks is no reason to stop. */
static bool create_temporary(struct results_file *file, struct error *err)
{
    if (!may_replace(file, err))
        return false;
    do {
        if (file->fd >= 0)
            close(file->fd);
        file->fd = open(file->temporary, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file->fd < 0)
            return fail(file, strerror(errno), err);
        if (flock(file->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(file->fd);
            file->fd = -1; /* another run's: not ours to remove */
            return fail(file, "another run is writing it", err);
        }
    } while (!has_name(file));
    return ftruncate(file->fd, 0) == 0 || fail(file, strerror(errno), err);
}

static void init(struct results_file *file, const struct group *writers, const char *path)
{
    *file = (struct results_file){.writers = *writers, .hdf5 = -1, .fd = -1};
    char target[PATH_MAX];
    struct stat status;
    bool link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    if (link && strncmp(path, "/dev/", 5) != 0 && realpath(path, target) != NULL)
        path = target; /* written is what the link leads to; the link stays */
    size_t bytes = strlen(path) + sizeof ".tmp";
    file->path = memory_copy_text(path);
    file->temporary = memory_new(bytes, 1);
    snprintf(file->temporary, bytes, "%s.tmp", path);
}

bool results_file_create(struct results_file *file, const struct group *writers, const char *path,
                         struct error *err)
{
    init(file, writers, path);
    if (writers->rank == 0)
        create_temporary(file, err);
    if (!group_agree(writers, err))
        return false;
    hdf5_start();
    file->hdf5 = hdf5_file_create(writers, file->temporary);
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
        status = fallocate(file->fd, FALLOC_FL_KEEP_SIZE, (off_t)file->reserved,
                           (off_t)(bytes - file->reserved));
    while (status != 0 && errno == EINTR);
    if (status == 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
        return status == 0 ? 0 : errno;
    struct statvfs disk; /* no reservations here: see at least whether there is room */
    if (fstatvfs(file->fd, &disk) == 0 && (bytes - file->reserved) / disk.f_frsize >= disk.f_bavail)
        return ENOSPC;
    return 0;
}

static void reserve(struct results_file *file, uint64_t bytes, struct error *err)
{
    uint64_t end = hdf5_file_bytes(file->hdf5) + bytes;
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
    return group_agree(&file->writers, err);
}

/* HDF5 does not tell why a write failed. */
static const char *guess_why(const struct results_file *file)
{
    struct statvfs disk;
    if (statvfs(file->temporary, &disk) == 0 && disk.f_bavail == 0)
        return strerror(ENOSPC);
    return "writing to the file failed";
}

bool results_file_agree(struct results_file *file, bool good, struct error *err)
{
    if (!good)
        fail(file, guess_why(file), err);
    return group_agree(&file->writers, err);
}

/* Gives back what was reserved, and brings the file to the disk. */
static bool settle(const struct results_file *file, struct error *err)
{
    struct stat status;
    if (fstat(file->fd, &status) != 0 || ftruncate(file->fd, status.st_size) != 0 ||
        fsync(file->fd) != 0)
        return fail(file, strerror(errno), err);
    return true;
}

/* A rename is safe on the disk when its folder is. */
static bool sync_folder(const struct results_file *file, struct error *err)
{
    const char *slash = strrchr(file->path, '/');
    char *folder = memory_copy_text(slash == NULL ? "." : file->path);
    if (slash != NULL)
        folder[slash == file->path ? 1 : slash - file->path] = '\0';
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Some file systems cannot sync a folder and say EINVAL: there is nothing to be done. */
    bool good = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    if (!good)
        fail(file, strerror(errno), err);
    if (fd >= 0)
        close(fd);
    memory_free(folder);
    return good;
}

static void publish(struct results_file *file, struct error *err)
{
    if (!settle(file, err))
        return;
    if (!hdf5_file_check(file->temporary, "schema_version")) {
        fail(file, "the file written cannot be read back", err);
        return;
    }
    if (!may_replace(file, err))
        return;
    if (rename(file->temporary, file->path) != 0)
        fail(file, strerror(errno), err);
    else
        sync_folder(file, err);
}

/* From here on the temporary name is not ours. */
static void forget_temporary(struct results_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    file->hdf5 = -1;
}

bool results_file_finish(struct results_file *file, struct error *err)
{
    if (!results_file_agree(file, hdf5_file_flush(file->hdf5), err))
        return false;
    if (!results_file_agree(file, hdf5_file_close(file->hdf5), err))
        return false;
    if (file->writers.rank == 0)
        publish(file, err);
    if (!group_agree(&file->writers, err))
        return false;
    forget_temporary(file);
    return true;
}

void results_file_drop(struct results_file *file)
{
    if (file->hdf5 >= 0 || file->fd >= 0)
        unlink(file->temporary);
    forget_temporary(file);
    memory_free(file->path);
    memory_free(file->temporary);
}
