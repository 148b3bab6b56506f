#include "cli/files.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* Whether both names lead to one file, through links too. */
static bool same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

static bool check(const struct options *options, const char *option, const char *path,
                  struct error *err)
{
    const char *output = options->study.output;
    char temporary[PATH_MAX];
    if (path == NULL)
        return true;
    if (same(output, path))
        return error_set(err, ERROR_USAGE, "--output: '%.300s' is the file that --%s reads", output,
                         option);
    snprintf(temporary, sizeof temporary, "%.*s.tmp", PATH_MAX - 8, output);
    if (same(temporary, path))
        return error_set(
            err, ERROR_USAGE,
            "--output: '%.300s' is written as '%.300s' first, the file that --%s reads", output,
            temporary, option);
    return true;
}

static bool check_kernels(const struct options *options, struct error *err)
{
    for (uint32_t i = 0; i < options->study.kernels_count; i++)
        if (!check(options, "kernel", options->study.kernels[i], err))
            return false;
    return true;
}

bool files_check(const struct options *options, struct error *err)
{
    return check(options, "tensors", options->study.tensors, err) &&
           check(options, "config", options->config, err) &&
           check(options, "requests", options->requests, err) && check_kernels(options, err);
}
