/* The bytes of one PE: its scratch and its share of HBM. What was never written is all ones, a NaN
 * in every type, so that its use shows. */
#ifndef AHBM_VALUES_MEMORY_H
#define AHBM_VALUES_MEMORY_H

#include "values/region.h"

/* Scratch grows with what is touched. */
struct value_scratch {
    char *bytes;
    uint64_t size, limit;
};

/* The place of `bytes` at `addr`, aligned as `addr` is; valid until the next call. */
char *value_scratch_at(struct value_scratch *scratch, uint64_t addr, uint64_t bytes);
/* Bytes of memory that a scratch takes which was used up to `used`, and a share of which `written`
 * bytes were written. */
uint64_t value_scratch_memory(uint64_t used);
uint64_t value_share_memory(uint64_t written);

void value_scratch_fini(struct value_scratch *scratch);

struct value_page;

/* Inputs are made when they are read; what was written is kept, in pages, and covers them. */
struct value_share {
    struct value_source *source; /* borrowed */
    struct value_region *inputs;
    struct value_region *outputs;
    uint32_t inputs_count, outputs_count;
    struct value_page *pages; /* hash table */
    uint64_t pages_room, pages_count;
};

void value_share_fini(struct value_share *share);

/* Adds a region (copied): of Q, K or V an input; of O a place where the output may be written. */
void value_share_map(struct value_share *share, const struct value_region *region);

bool value_share_read(struct value_share *share, uint64_t addr, uint64_t bytes, char *out,
                      struct error *err);
bool value_share_write(struct value_share *share, uint64_t addr, uint64_t bytes, const char *data,
                       struct error *err);

/* Copies row `index` of output region `region` [dim]; false when it was never written. */
bool value_share_output(const struct value_share *share, const struct value_region *region,
                        uint64_t index, uint16_t *out);

#endif
