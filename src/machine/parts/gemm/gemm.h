/* The MAC array: an in-order, pipelined server of steps. Filling it delays a step's result, not the
 * next step. */
#ifndef AHBM_MACHINE_GEMM_H
#define AHBM_MACHINE_GEMM_H

#include <stdint.h>

#include "support/units.h"

struct cube;
struct pe;
struct machine_params;

struct gemm_params {
    struct rate clock; /* ps per cycle */
    uint64_t macs_per_cycle;
    uint64_t fill_cycles; /* when the array has run empty */
};

struct gemm_stats {
    uint64_t steps; /* of TILE_M x TILE_K x TILE_N */
};

/* Cycles of one step, and the time to fill the array. */
uint64_t gemm_step_cycles(const struct machine_params *params);
uint64_t gemm_fill_ps(const struct machine_params *params);

/* ---- bounds, for promises ---- */

/* A time before which the array has not worked `cycles` more, none accepted before `now`. */
uint64_t gemm_least(const struct cube *cube, const struct pe *pe, uint64_t now, uint64_t cycles);

/* Cycles accepted so far of plans that need nothing from HBM. */
uint64_t gemm_scratch_cycles(const struct pe *pe);

#endif
