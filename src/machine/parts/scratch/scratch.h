/* The scratch memory (TCM) of a PE: its size, and the bandwidth of one of its ports. */
#ifndef AHBM_MACHINE_SCRATCH_H
#define AHBM_MACHINE_SCRATCH_H

#include <stdint.h>

#include "support/units.h"

struct machine_params;

struct scratch_params {
    uint64_t bytes;
    struct rate rate; /* ps per byte of a port */
};

/* What moving `bytes` through a port takes. */
uint64_t scratch_move_ps(const struct machine_params *params, uint64_t bytes);

#endif
