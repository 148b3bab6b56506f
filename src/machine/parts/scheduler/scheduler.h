/* The scheduler turns a composite into a plan of TILE_M x TILE_K x TILE_N steps: for each output
 * tile of TILE_N columns, its K sub-tiles in order. A sub-tile of `b` is fetched once and serves
 * all M-tiles; up to `pipeline_depth` of them are in flight. An output tile that is complete goes
 * through the epilogue. */
#ifndef AHBM_MACHINE_SCHEDULER_H
#define AHBM_MACHINE_SCHEDULER_H

#include <stdint.h>

struct command;
struct machine_params;

struct scheduler_params {
    uint64_t tile_m, tile_k, tile_n; /* elements */
    uint64_t pipeline_depth;         /* sub-tiles fetched and not yet multiplied */
    uint64_t queue_commands;         /* composites accepted and not ended */
};

struct scheduler_stats {
    uint64_t useful_macs; /* M * K * N of the commands */
};

/* Steps of a GEMM's plan. */
uint64_t scheduler_steps(const struct machine_params *params, const struct command *command);

#endif
