/* --requests FILE: the length of each request of a batch (docs/adr/0014).
 *
 * One length per line, in tokens, K, M or G behind it allowed. `#` begins a comment; lines without
 * a length do not count. Lines end in LF or CR LF, the last one in either or nothing; a byte-order
 * mark of UTF-8 may stand first.
 */
#ifndef AHBM_STUDY_REQUESTS_H
#define AHBM_STUDY_REQUESTS_H

#include <stddef.h>

#include "pdes/transport/comm.h"
#include "study/options.h"
#include "support/error.h"

enum { REQUESTS_FILE_BYTES = 1 << 24 }; /* the largest file */

/* Lengths of `text`, which `label` names in messages: a new list (memory_free()) and how many.
 * False with ERROR_USAGE that names the line when a line holds anything else. */
bool requests_parse(const char *label, const char *text, size_t bytes, uint64_t **lengths,
                    uint32_t *count, struct error *err);

/* Reads the file: its lengths become the batch of `options`, the longest its only context. For one
 * process, without MPI. */
bool requests_read(const char *path, struct study_options *options, struct error *err);

/* Process 0's lengths become those of all. Collective. */
void requests_broadcast(const struct comm *comm, struct study_options *options);

#endif
