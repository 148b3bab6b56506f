/* Which part of a tensor lies where in the HBM share of a PE: what a placement tells the values.
 *
 * A region holds `rows` rows of `dim` bf16 elements. Row i is of head
 *     head + (i / rows_per_head) * head_step      and token
 *     token + (i % rows_per_head) * token_step,
 * so that round-robin KV shards (token_step = ranks), contiguous or striped query rows and heads
 * folded into the rows (rows_per_head = T_q) are all one description; zig-zag rows are two. */
#ifndef AHBM_VALUES_REGION_H
#define AHBM_VALUES_REGION_H

#include "values/source.h"

/* ROWS: row after row. TRANSPOSED: blocks of `block` rows, each stored as [dim, rows of the block];
 * a ragged last block takes the room of a whole one, at its end there is nothing. */
enum value_layout { LAYOUT_ROWS, LAYOUT_TRANSPOSED };

struct value_region {
    uint64_t addr; /* bytes from the start of the share */
    enum value_tensor tensor;
    enum value_layout layout;
    uint32_t block; /* TRANSPOSED: rows of a block */
    uint32_t request;
    uint32_t head, head_step;
    uint64_t rows, rows_per_head;
    uint64_t token, token_step;
};

enum { VALUE_BYTES = 2 /* bf16 */ };

/* Bytes from addr to the end, the room of a ragged last block included. */
uint64_t region_bytes(const struct value_region *region, uint32_t dim);

/* What row `index` of the region is. */
struct value_row region_row(const struct value_region *region, uint64_t index);

/* Copies bytes [offset, offset + bytes) of the region (even, within it) to `out`; where nothing
 * lies `out` keeps what it has. */
bool region_read(const struct value_region *region, struct value_source *source, uint64_t offset,
                 uint64_t bytes, char *out, struct error *err);

#endif
