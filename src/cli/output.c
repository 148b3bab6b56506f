#include "cli/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A write that failed earlier is tried again here, so that errno is its own. */
bool output_close(struct error *err)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed |= fflush(stdout) != 0;
    int cause = errno;
    failed |= fclose(stdout) != 0;
    cause = cause != 0 ? cause : errno;
    return !failed || error_set(err, ERROR_FAILED, "cannot write standard output: %s",
                                cause != 0 ? strerror(cause) : "a part of it is missing");
}
