/* A user's Q, K and V: an HDF5 file with the datasets Q [requests, H_q, T_q, d], K and V
 * [requests, H_kv, S, d] of f16, f32, f64, or bf16 as 16-bit unsigned integers
 * (docs/verification.md; analysis/make_tensors.py makes one). */
#ifndef AHBM_TENSORS_H
#define AHBM_TENSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/error.h"

enum { TENSORS_IN_FILE = 3 /* Q, K, V */ };

/* What a point needs of the file. */
struct tensors_shape {
    uint64_t requests, query_heads, kv_heads, query_len, context, head_dim;
};

struct tensors;

/* Opens the file and its three datasets, for this process alone. NULL with `err` (ERROR_USAGE) when
 * it is not such a file: all of it must lie in the file itself, stored by HDF5's own means, in
 * chunks of 64 MiB at most. */
struct tensors *tensors_open(const char *path, struct error *err);

/* Of the largest chunk, decoded; 0: none is chunked. */
uint64_t tensors_chunk_bytes(const struct tensors *tensors);

/* Of all datasets that have chunks. */
uint64_t tensors_elements(const struct tensors *tensors);

/* Reads, as tensors_check_finite() does, all that has to be decoded, and the ends of the rest. */
bool tensors_walk(struct tensors *tensors, struct error *err);
void tensors_close(struct tensors *tensors);

/* Whether the datasets have exactly these shapes; otherwise ERROR_USAGE with the first that has
 * not. */
bool tensors_check(const struct tensors *tensors, const struct tensors_shape *shape,
                   struct error *err);

/* Whether all numbers of part `part` of `parts` of dataset `which` are finite in bf16; otherwise
 * ERROR_USAGE with the first that is not. The parts follow each other in the file. */
bool tensors_check_finite(struct tensors *tensors, uint32_t which, uint32_t part, uint32_t parts,
                          struct error *err);

/* Rows token, token + step, ... of one head of dataset `which` (0: Q, 1: K, 2: V) as bf16
 * [count][d], rounded to nearest even. False with `err` (ERROR_FAILED) when they cannot be read. */
bool tensors_read(struct tensors *tensors, uint32_t which, uint64_t request, uint64_t head,
                  uint64_t token, uint64_t step, uint64_t count, uint16_t *out, struct error *err);

#endif
