/* A library to preload that lets calls fail, built and used by tests/cli.
 *
 *   FAULT_CALL=open       the call: open, statfs, pwrite, ftruncate, fsync, fallocate, rename,
 * alloc FAULT_ERRNO=24        what errno says; alloc returns NULL FAULT_PATH=x.h5       only on
 * files whose path has this in it FAULT_RANK=3          only in this rank of an mpirun FAULT_SKIP=5
 * after so many that succeed FAULT_COUNT=1         so many times; otherwise always FAULT_BYTES=4096
 * alloc: only of at least so many bytes FAULT_CALLER=libhdf5  alloc: only from a library whose path
 * has this in it FAULT_LOG=file        a line is added for each call that failed
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : atol(text);
}

static bool is_meant(const char *call)
{
    const char *wanted = getenv("FAULT_CALL");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *wanted_rank = getenv("FAULT_RANK");
    if (rank == NULL)
        rank = getenv("PMI_RANK"); /* MPICH's */
    if (rank == NULL)
        rank = "0";
    return wanted != NULL && strcmp(call, wanted) == 0 &&
           (wanted_rank == NULL || strcmp(rank, wanted_rank) == 0);
}

/* "name$": at the end. */
static bool contains(const char *text, const char *variable)
{
    const char *part = getenv(variable);
    size_t length = part == NULL ? 0 : strlen(part), bytes = strlen(text);
    if (length > 0 && part[length - 1] == '$')
        return bytes >= length - 1 && strncmp(text + bytes - (length - 1), part, length - 1) == 0;
    return part == NULL || strstr(text, part) != NULL;
}

static void note(const char *call)
{
    const char *log = getenv("FAULT_LOG");
    int fd = log == NULL ? -1 : openat(AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd < 0)
        return;
    if (write(fd, call, strlen(call)) < 0 || write(fd, "\n", 1) < 0)
        abort();
    close(fd);
}

static bool strikes(const char *call)
{
    static long calls;
    long at = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) - number("FAULT_SKIP", 0);
    if (at < 0 || at >= number("FAULT_COUNT", 1L << 40))
        return false;
    note(call);
    errno = (int)number("FAULT_ERRNO", EIO);
    return true;
}

/* The path itself or, for the names of /proc/self/fd, what it leads to. */
static bool path_meant(const char *path)
{
    char target[4096];
    ssize_t bytes = readlink(path, target, sizeof target - 1);
    target[bytes < 0 ? 0 : bytes] = '\0';
    return contains(path, "FAULT_PATH") || contains(target, "FAULT_PATH");
}

static bool file_meant(int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path_meant(path);
}

#define NEXT(call) __typeof__(&call) next = (__typeof__(&call))dlsym(RTLD_NEXT, #call)

#define OPEN(call)                                                                                 \
    int call(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = va_arg(args, mode_t);                                                        \
        va_end(args);                                                                              \
        NEXT(call);                                                                                \
        if (is_meant("open") && path_meant(path) && strikes("open"))                               \
            return -1;                                                                             \
        return next(path, flags, mode);                                                            \
    }

#define OPEN_AT(call)                                                                              \
    int call(int folder, const char *path, int flags, ...)                                         \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = va_arg(args, mode_t);                                                        \
        va_end(args);                                                                              \
        NEXT(call);                                                                                \
        if (is_meant("open") && path_meant(path) && strikes("open"))                               \
            return -1;                                                                             \
        return next(folder, path, flags, mode);                                                    \
    }

OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)

#define CALL(type, call, kind, parameters, arguments, meant)                                       \
    type call parameters                                                                           \
    {                                                                                              \
        NEXT(call);                                                                                \
        if (is_meant(kind) && meant && strikes(kind))                                              \
            return -1;                                                                             \
        return next arguments;                                                                     \
    }

CALL(int, statfs, "statfs", (const char *path, struct statfs *to), (path, to), path_meant(path))
CALL(int, statfs64, "statfs", (const char *path, struct statfs64 *to), (path, to), path_meant(path))
CALL(ssize_t, pwrite, "pwrite", (int fd, const void *data, size_t bytes, off_t place),
     (fd, data, bytes, place), file_meant(fd))
CALL(ssize_t, pwrite64, "pwrite", (int fd, const void *data, size_t bytes, off64_t place),
     (fd, data, bytes, place), file_meant(fd))
CALL(ssize_t, pread, "pread", (int fd, void *data, size_t bytes, off_t place),
     (fd, data, bytes, place), file_meant(fd))
CALL(ssize_t, pread64, "pread", (int fd, void *data, size_t bytes, off64_t place),
     (fd, data, bytes, place), file_meant(fd))
CALL(int, ftruncate, "ftruncate", (int fd, off_t bytes), (fd, bytes), file_meant(fd))
CALL(int, ftruncate64, "ftruncate", (int fd, off64_t bytes), (fd, bytes), file_meant(fd))
CALL(int, fsync, "fsync", (int fd), (fd), file_meant(fd))
CALL(int, fallocate, "fallocate", (int fd, int mode, off_t place, off_t bytes),
     (fd, mode, place, bytes), file_meant(fd))
CALL(int, fallocate64, "fallocate", (int fd, int mode, off64_t place, off64_t bytes),
     (fd, mode, place, bytes), file_meant(fd))
CALL(int, renameat, "rename", (int folder, const char *from, int to_folder, const char *to),
     (folder, from, to_folder, to), contains(from, "FAULT_PATH"))

static bool alloc_fails(size_t bytes, void *caller)
{
    Dl_info from;
    static __thread bool inside;
    if (inside)
        return false;
    inside = true;
    bool meant = is_meant("alloc") && bytes >= (size_t)number("FAULT_BYTES", 0) &&
                 dladdr(caller, &from) != 0 && from.dli_fname != NULL &&
                 contains(from.dli_fname, "FAULT_CALLER") && strikes("alloc");
    inside = false;
    if (meant)
        errno = ENOMEM;
    return meant;
}

void *malloc(size_t bytes)
{
    return alloc_fails(bytes, __builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return alloc_fails(count * bytes, __builtin_return_address(0)) ? NULL
                                                                   : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return alloc_fails(bytes, __builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}
