#ifndef AHBM_MACHINE_GEMM_STATE_H
#define AHBM_MACHINE_GEMM_STATE_H

#include "machine/parts/gemm/gemm.h"
#include "machine/server.h"

struct gemm {
    struct server server;
    uint64_t last;           /* number of the last command it served */
    uint64_t scratch_cycles; /* accepted of plans that need nothing from HBM */
    struct gemm_stats stats;
};

/* What follows from the parameters, per CUBE. */
struct gemm_derived {
    uint64_t step_cycles;
    uint64_t fill_ps;
};

#endif
