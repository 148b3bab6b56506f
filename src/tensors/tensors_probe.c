#include "tensors/tensors_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tensors/tensors.h"

/* For the library, and for each chunk that is decoded: it, the cache, and conversions. */
#define MEMORY_BYTES (UINT64_C(64) << 20)
enum { CHUNKS = 6 };

/* A slow disk and gzip decode so much in a second, on one of many processes of a core. */
enum { SECONDS = 5, BYTES_PER_SECOND = 1 << 20, ELEMENTS_PER_SECOND = 1 << 22 };

/* As low as the limit that there is. */
static void set_limit(__rlimit_resource_t resource, uint64_t most)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    setrlimit(resource, &limit);
}

/* Beside what the process has taken already. */
static void allow_memory(uint64_t bytes)
{
#ifdef __SANITIZE_ADDRESS__
    (void)bytes; /* its shadow needs terabytes of addresses */
#else
    char line[128];
    FILE *taken = fopen("/proc/self/statm", "re");
    if (taken == NULL)
        return;
    if (fgets(line, sizeof line, taken) != NULL) /* pages come first */
        set_limit(RLIMIT_AS, strtoull(line, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) + bytes);
    fclose(taken);
#endif
}

static void confine(uint64_t seconds)
{
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO); /* what the C library says of its heap */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_CPU, seconds);
    allow_memory(MEMORY_BYTES);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
}

_Noreturn static void look(const char *path, int end)
{
    struct error found = {ERROR_NONE, ""};
    struct stat status;
    uint64_t bytes = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
    uint64_t seconds = SECONDS + bytes / BYTES_PER_SECOND;
    confine(seconds);
    struct tensors *tensors = tensors_open(path, &found);
    if (tensors != NULL) {
        set_limit(RLIMIT_CPU, seconds + tensors_elements(tensors) / ELEMENTS_PER_SECOND);
        allow_memory(MEMORY_BYTES + CHUNKS * tensors_chunk_bytes(tensors));
    }
    if (tensors != NULL && !tensors_walk(tensors, &found) && found.code == ERROR_FAILED)
        error_context(&found, "--tensors: the file is damaged, or its chunks hold too much");
    _exit(write(end, &found, sizeof found) == sizeof found ? 0 : 1);
}

/* What the process said before it ended; false: it did not come so far. */
static bool hear(int end, pid_t child, struct error *found, int *status)
{
    size_t bytes = 0;
    ssize_t more;
    while (bytes < sizeof *found &&
           ((more = read(end, (char *)found + bytes, sizeof *found - bytes)) > 0 ||
            (more < 0 && errno == EINTR)))
        bytes += more > 0 ? (size_t)more : 0;
    while (waitpid(child, status, 0) < 0 && errno == EINTR)
        continue;
    return bytes == sizeof *found;
}

bool tensors_probe(const char *path, struct error *err)
{
    int ends[2], status = 0;
    struct error found;
    if (pipe(ends) != 0)
        return error_set(err, ERROR_FAILED, "--tensors: %.200s: %s", path, strerror(errno));
    pid_t child = fork();
    if (child == 0)
        look(path, ends[1]);
    close(ends[1]);
    bool heard = child > 0 && hear(ends[0], child, &found, &status);
    close(ends[0]);
    if (child < 0)
        return error_set(err, ERROR_FAILED, "--tensors: %.200s: %s", path, strerror(errno));
    if (heard)
        return found.code == ERROR_NONE || error_set(err, ERROR_USAGE, "%s", found.text);
    const char *how = !WIFSIGNALED(status)          ? "takes too much memory"
                      : WTERMSIG(status) == SIGXCPU ? "takes too long"
                                                    : "ends in a crash of HDF5";
    return error_set(err, ERROR_USAGE,
                     "--tensors: %.200s: the file is damaged: reading it %s (more than 64 MiB of a "
                     "chunk, or broken structures)",
                     path, how);
}
