/* Files that the user names: which kinds are read at all, and how without waiting for ever
 * (docs/adr/0014).
 *
 * An error is ERROR_USAGE and tells what is wrong with the file, to be put behind its name: "cannot
 * be opened: No such file or directory", "is a directory", "is larger than 1048576 bytes".
 */
#ifndef AHBM_SUPPORT_INPUT_H
#define AHBM_SUPPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/error.h"

/* A pipe must have been written and closed within so many seconds, and somebody must have it open
 * within so many. */
enum { INPUT_WAIT_S = 10, INPUT_WAIT_WRITER_S = 2 };

/* The whole of a regular file or of a pipe, at most `most` bytes: a new text with a NUL behind it
 * (memory_free()). */
bool input_read(const char *path, size_t most, char **text, size_t *bytes, struct error *err);

/* By what a file is known again on another host. */
struct input_identity {
    uint64_t bytes, digest;
};

/* Of a file up to INPUT_WHOLE_BYTES every byte counts, of a larger one its size, its start, its
 * end and blocks evenly between, INPUT_WHOLE_BYTES in all. */
enum { INPUT_WHOLE_BYTES = 1 << 26 };

/* Whether `path` is a regular file that can be read and is not empty: what a library may be given
 * to open. Its identity, unless that is NULL. */
bool input_identify(const char *path, struct input_identity *identity, struct error *err);

#endif
