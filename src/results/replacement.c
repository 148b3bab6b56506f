/* The temporary file's mark is the sticky bit, which means nothing on a file and which nobody sets
 * by accident: what has the name and the mark, belongs to this user, has no other name and is not
 * locked, was left by a run that died. */
#include "results/replacement.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "results/replacement_internal.h"
#include "support/hash.h"
#include "support/memory.h"

#define ENDING ".tmp"
enum { MARK = S_ISVTX, PRIVATE = 0600, PERMISSIONS = 0777, TRIES = 1000 };

/* Far behind all data, so that locks of parts of the file (ROMIO's on NFS) do not meet it. */
#define LOCK_PLACE ((off_t)1 << 62)

bool replacement_fail(const struct replacement *file, const char *why, struct error *err)
{
    return error_set(err, ERROR_FAILED, "cannot write %s: %s", file->path, why);
}

const char *replacement_name(const struct replacement *file)
{
    const char *slash = strrchr(file->path, '/');
    return slash == NULL ? file->path : slash + 1;
}

bool replacement_has(const struct replacement *file, const char *name)
{
    struct stat open_file, named;
    return fstat(file->fd, &open_file) == 0 &&
           fstatat(file->folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

/* What `path` leads to; freed by memory_free(). */
static char *follow(const char *path)
{
    char target[PATH_MAX];
    struct stat status;
    bool link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    if (link && strncmp(path, "/dev/", 5) != 0 && realpath(path, target) != NULL)
        return memory_copy_text(target);
    return memory_copy_text(path);
}

static char *folder_of(const char *path)
{
    char *folder = memory_copy_text(path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        memory_free(folder);
        return memory_copy_text(".");
    }
    slash[slash == folder] = '\0';
    return folder;
}

char *replacement_folder(const char *path)
{
    char *target = follow(path);
    char *folder = folder_of(target);
    memory_free(target);
    return folder;
}

/* NAME.tmp; where that is too long, a name that is short and that no other file is likely to need.
 */
static char *temporary_of(const char *name)
{
    size_t bytes = strlen(name) + sizeof ENDING;
    char *temporary = memory_new(bytes < NAME_MAX ? NAME_MAX : bytes, 1);
    snprintf(temporary, bytes, "%s" ENDING, name);
    if (strlen(temporary) <= NAME_MAX)
        return temporary;
    uint64_t hash = HASH_START;
    for (const char *c = name; *c != '\0'; c++)
        hash = hash_word(hash, (unsigned char)*c);
    snprintf(temporary, NAME_MAX, ".ahbm-pdes-%016llx" ENDING,
             (unsigned long long)hash_finish(hash));
    return temporary;
}

static bool init(struct replacement *file, const char *path, struct error *err)
{
    *file = (struct replacement){.path = follow(path), .folder = -1, .fd = -1};
    file->temporary = temporary_of(replacement_name(file));
    char *folder = folder_of(file->path);
    file->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    memory_free(folder);
    return file->folder >= 0 || replacement_fail(file, strerror(errno), err);
}

static void close_file(struct replacement *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* 0, or why not: EAGAIN when another process has it, else the file system has no locks. */
static int lock(const struct replacement *file)
{
    struct flock whole = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_PLACE, .l_len = 1};
    int status;
    do
        status = fcntl(file->fd, F_OFD_SETLK, &whole);
    while (status != 0 && errno == EINTR);
    if (status == 0)
        return 0;
    return errno == EACCES ? EAGAIN : errno;
}

static bool is_leftover(const struct stat *status)
{
    return S_ISREG(status->st_mode) && (status->st_mode & MARK) != 0 && status->st_nlink == 1 &&
           status->st_uid == geteuid();
}

static bool in_the_way(const struct replacement *file, const char *what, struct error *err)
{
    return error_set(
        err, ERROR_FAILED,
        "cannot write %.400s: '%.300s' is in the way, the name that it has until it is "
        "complete: %s",
        file->path, file->temporary, what);
}

/* Opens what has the temporary name, if it is a run's. Nothing is opened that is no file: that
 * alone may do something. */
static bool open_leftover(struct replacement *file, struct error *err)
{
    struct stat status;
    if (fstatat(file->folder, file->temporary, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT || replacement_fail(file, strerror(errno), err);
    if (!is_leftover(&status))
        return in_the_way(file, "not left by a run of this user", err);
    file->fd = openat(file->folder, file->temporary, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file->fd < 0)
        return errno == ENOENT || in_the_way(file, strerror(errno), err);
    if (fstat(file->fd, &status) != 0 || (status.st_nlink > 0 && !is_leftover(&status)))
        return in_the_way(file, "not left by a run of this user", err);
    return true;
}

/* Removes what a dead run left. True too when the name is free already. */
static bool clear_name(struct replacement *file, struct error *err)
{
    bool good = open_leftover(file, err);
    if (good && file->fd >= 0) {
        int fault = lock(file);
        if (fault == EAGAIN)
            good = replacement_fail(file, "another run is writing it", err);
        else if (fault != 0)
            good =
                in_the_way(file, "left by a run, or a run is writing it (no locks here tell)", err);
        else if (replacement_has(file, file->temporary))
            unlinkat(file->folder, file->temporary, 0);
    }
    close_file(file);
    return good;
}

/* Makes the file new. False without `err` when the name is taken. */
static bool create(struct replacement *file, struct error *err)
{
    struct stat status;
    assert(file->folder >= 0);
    bool older = fstatat(file->folder, replacement_name(file), &status, 0) == 0;
    file->fd = openat(file->folder, file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                      MARK | (older ? PRIVATE : 0666));
    if (file->fd < 0)
        return errno != EEXIST && replacement_fail(file, strerror(errno), err);
    if (fstat(file->fd, &status) == 0)
        file->mode = status.st_mode & PERMISSIONS;
    /* Between the two calls it could be taken for a leftover: then it has lost its name. */
    if (lock(file) == EAGAIN || !replacement_has(file, file->temporary)) {
        close_file(file);
        return false;
    }
    fchmod(file->fd, MARK | PRIVATE); /* if it can be: only recognizing it depends on it */
    return true;
}

/* A short rest, for the other process's next step. */
static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static bool take_name(struct replacement *file, struct error *err)
{
    for (int i = 0; i < TRIES; i++) {
        if (create(file, err))
            return true;
        if (err->code != ERROR_NONE || !clear_name(file, err))
            return false;
        if (i > 0)
            rest();
    }
    return replacement_fail(file, "another run is writing it", err);
}

/* The first word stays zero. */
static bool write_token(const struct replacement *file, struct replacement_token *token,
                        struct error *err)
{
    assert(file->fd >= 0);
    memset(token, 0, sizeof *token);
    if (getrandom(&token->words[1], sizeof *token - sizeof token->words[0], GRND_NONBLOCK) < 0)
        token->words[1] = (uint64_t)getpid();
    errno = ENOSPC;
    if (pwrite(file->fd, token, sizeof *token, 0) != (ssize_t)sizeof *token || fsync(file->fd) != 0)
        return replacement_fail(file, strerror(errno), err);
    return true;
}

/* Without /proc it is the name that leads to it, if nobody has changed what that leads to. */
static void choose_open_name(struct replacement *file)
{
    char *folder = folder_of(file->path);
    size_t bytes = strlen(folder) + strlen(file->temporary) + 32;
    file->open_name = memory_new(bytes, 1);
    snprintf(file->open_name, bytes, "/proc/self/fd/%d", file->fd);
    if (access(file->open_name, F_OK) != 0)
        snprintf(file->open_name, bytes, "%s/%s", folder, file->temporary);
    memory_free(folder);
}

bool replacement_begin(struct replacement *file, const char *path, struct replacement_token *token,
                       struct error *err)
{
    if (!init(file, path, err) || !replacement_allowed(file, err) || !take_name(file, err))
        return false;
    file->owner = true;
    replacement_guard(file);
    choose_open_name(file);
    return write_token(file, token, err);
}

bool replacement_join(struct replacement *file, const char *path,
                      const struct replacement_token *token, struct error *err)
{
    struct replacement_token found;
    if (!init(file, path, err))
        return false;
    assert(file->folder >= 0);
    file->fd = openat(file->folder, file->temporary, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file->fd < 0 && errno != ENOENT)
        return replacement_fail(file, strerror(errno), err);
    if (file->fd < 0 || pread(file->fd, &found, sizeof found, 0) != (ssize_t)sizeof found ||
        memcmp(&found, token, sizeof found) != 0)
        return replacement_fail(file, "not all ranks find the same folder there", err);
    choose_open_name(file);
    return true;
}

const char *replacement_open_name(const struct replacement *file)
{
    return file->open_name;
}

void replacement_end(struct replacement *file)
{
    replacement_unguard();
    if (file->owner && replacement_has(file, file->temporary))
        unlinkat(file->folder, file->temporary, 0);
    close_file(file);
    if (file->folder >= 0)
        close(file->folder);
    memory_free(file->path);
    memory_free(file->temporary);
    memory_free(file->open_name);
    *file = (struct replacement){.folder = -1, .fd = -1};
}
