/* Exact attention in float64, the plain way: softmax(Q K^T * scale + mask) V on the bf16 inputs.
 *
 * A block of query rows is computed over chunks of the context; the chunks' (m, l, O) are combined
 * in order. Chunks depend on the context alone, so neither who computes one nor how many share the
 * work changes a bit of the result. */
#ifndef AHBM_VALUES_REFERENCE_H
#define AHBM_VALUES_REFERENCE_H

#include "values/source.h"

struct reference_problem {
    struct value_source *source; /* borrowed */
    uint64_t context;            /* S */
    uint32_t query_len;          /* T_q: the positions S - T_q to S - 1; at most S */
    uint32_t group_heads;        /* G: query heads kv_head * G to kv_head * G + G - 1 */
};

/* Rows [first, first + count) of the G * T_q rows of a (request, KV head): row i is of query head
 * kv_head * G + i / T_q and position i % T_q. Causal: it sees the keys up to S - T_q + i % T_q. */
struct reference_block {
    uint32_t request, kv_head;
    uint64_t first;
    uint32_t count;
};

/* Chunks of a context. */
uint64_t reference_chunks(uint64_t context);

/* Doubles of a block's state: m [count], l [count], O [count][dim], one after another. */
/* Bytes of memory that one chunk takes while it is computed, for `count` rows. */
uint64_t reference_memory(uint64_t context, uint32_t count, uint32_t dim);

uint64_t reference_state_size(uint32_t count, uint32_t dim);

/* The state of the block over chunk number `chunk`. */
bool reference_chunk(const struct reference_problem *problem, const struct reference_block *block,
                     uint64_t chunk, double *state, struct error *err);

/* Merges the state `more` of a later chunk into `state`. */
void reference_merge(double *state, const double *more, uint32_t count, uint32_t dim);

/* O / l, in place; returns where O is in the state. */
const double *reference_output(double *state, uint32_t count, uint32_t dim);

#endif
