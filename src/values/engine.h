/* Computes what the commands of one CUBE compute: the implementation of prog/values.h.
 *
 * Storage is what the commands say (bf16, f16 or f32, rounded to nearest even), arithmetic is f32.
 * Nothing that it does is seen by simulated time. */
#ifndef AHBM_VALUES_ENGINE_H
#define AHBM_VALUES_ENGINE_H

#include "prog/values.h"
#include "values/memory.h"

struct value_config {
    uint32_t pes;
    uint64_t scratch_bytes;      /* of a PE */
    struct value_source *source; /* of Q, K and V; borrowed */
};

struct value_engine *value_engine_new(const struct value_config *config);
void value_engine_free(struct value_engine *engine);

/* Bytes of memory that the values of a PE take, of whose scratch `scratch` bytes are used and whose
 * kernel writes `written` bytes to HBM. Those of the engine beside its PEs: value_engine_buffers().
 */
uint64_t value_engine_memory(uint64_t scratch, uint64_t written);

/* Bytes that a command needs while it computes; the largest of all commands count. */
uint64_t value_engine_buffers(const struct command *command);

/* Tells what lies in the share of PE `pe`, or with OPERAND_STACK striped over all shares, or where
 * its kernel may write output. Before the run. */
void value_engine_map(struct value_engine *engine, uint32_t pe, const struct value_region *region);

/* False with `err` when an input could not be read; the values are worthless then. */
bool value_engine_check(const struct value_engine *engine, struct error *err);

/* The share of PE `pe`, for its outputs. Borrowed. */
const struct value_share *value_engine_share(const struct value_engine *engine, uint32_t pe);

#endif
