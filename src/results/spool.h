/* A CUBE's trace during a point: records go to an unlinked temporary file beside the output, so
 * that memory does not grow with the trace, and come back in slices when the point has ended. */
#ifndef AHBM_RESULTS_SPOOL_H
#define AHBM_RESULTS_SPOOL_H

#include <stddef.h>

#include "machine/trace.h"
#include "support/error.h"

struct spool;

/* One temporary file in `directory`, shared by `cubes` CUBEs of this process. NULL with `err` when
 * it cannot be made. */
struct spool *spool_new(const char *directory, uint32_t cubes, struct error *err);
void spool_free(struct spool *spool);

/* Bytes of memory that a spool of `cubes` CUBEs takes. */
uint64_t spool_memory(uint32_t cubes);

/* The sink of the `index`-th CUBE; a failed write is remembered and told by spool_finish(). */
struct trace_sink *spool_sink(struct spool *spool, uint32_t index);

/* Ends writing: everything is readable afterwards. False with `err` when a write failed. */
bool spool_finish(struct spool *spool, struct error *err);

/* Records of a CUBE, and a slice of them in the order of writing: [first, first + count). */
uint64_t spool_count(const struct spool *spool, uint32_t index);
bool spool_read(struct spool *spool, uint32_t index, uint64_t first, uint64_t count,
                struct trace_record *records, struct error *err);

/* Empties the spool for the next point. */
void spool_reset(struct spool *spool);

#endif
