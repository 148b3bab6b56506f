/* Random tensors that bf16 holds exactly, and the attention of one query row in double. */
#ifndef AHBM_TESTS_KERNELS_PLAIN_H
#define AHBM_TESTS_KERNELS_PLAIN_H

#include <math.h>
#include <string.h>

#include "execute.h"

enum { DIM = 16, Q = 0, K = 1, V = 2 };

/* A number in [-1, 1) that bf16 holds exactly. */
static inline float sample(int kind, uint32_t request, uint64_t row, uint32_t col)
{
    uint64_t z = ((uint64_t)kind << 60) ^ ((uint64_t)request << 48) ^ (row << 8) ^ col;
    z = (z + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (float)(int64_t)((z >> 56) & 0xff) / 128 - 1;
}

/* Scores spread over some units, so that a tile lost or merged wrongly shows. */
static inline float query(uint32_t request, uint32_t row, uint32_t col)
{
    return 4 * sample(Q, request, row, col);
}

static inline void put_bf16(uint8_t *at, uint64_t index, float value)
{
    uint16_t bits = to_bf16(value);
    memcpy(at + 2 * index, &bits, sizeof bits);
}

/* Query row `row` of request `r` over the first `tokens` tokens. */
static inline void reference(uint32_t r, uint32_t row, uint64_t tokens, double out[DIM])
{
    double most = -INFINITY, sum = 0;
    double *scores = memory_new(tokens, sizeof *scores);
    for (uint64_t token = 0; token < tokens; token++) {
        for (uint32_t d = 0; d < DIM; d++)
            scores[token] += (double)query(r, row, d) * (double)sample(K, r, token, d);
        scores[token] /= sqrt(DIM);
        most = fmax(most, scores[token]);
    }
    memset(out, 0, DIM * sizeof *out);
    for (uint64_t token = 0; token < tokens; token++) {
        double weight = exp(scores[token] - most);
        sum += weight;
        for (uint32_t d = 0; d < DIM; d++)
            out[d] += weight * (double)sample(V, r, token, d);
    }
    for (uint32_t d = 0; d < DIM; d++)
        out[d] /= sum;
    memory_free(scores);
}

/* The largest distance of a stored bf16 row from the wanted one; NaN counts as infinite. */
static inline double row_error(const uint8_t *stored, const double wanted[DIM])
{
    double worst = 0;
    for (uint32_t d = 0; d < DIM; d++) {
        uint16_t bits;
        memcpy(&bits, stored + 2 * d, sizeof bits);
        double apart = fabs((double)from_bf16(bits) - wanted[d]);
        worst = isnan(apart) ? INFINITY : fmax(worst, apart);
    }
    return worst;
}

#endif
