/* The machine's parameters, in simulated units: times in picoseconds, rates as exact ratios. Each
 * part declares its own; its keys (key.h) say how a machine file fills them. */
#ifndef AHBM_MACHINE_PARAMS_H
#define AHBM_MACHINE_PARAMS_H

#include <stdint.h>

#include "machine/parts/cpu/cpu.h"
#include "machine/parts/dma/dma.h"
#include "machine/parts/gemm/gemm.h"
#include "machine/parts/hbm/hbm.h"
#include "machine/parts/ipcq/ipcq.h"
#include "machine/parts/math/math.h"
#include "machine/parts/network/network.h"
#include "machine/parts/scheduler/scheduler.h"
#include "machine/parts/scratch/scratch.h"
#include "prog/geometry.h"
#include "prog/stripe.h"

struct machine_params {
    struct geometry geometry;
    struct {
        uint64_t query_heads;
        uint64_t kv_heads;
        uint64_t head_dim;
        uint64_t layers;
    } model;
    struct cpu_params cpu;
    struct scheduler_params sched;
    struct dma_params dma;
    struct hbm_params hbm;
    struct gemm_params gemm;
    struct math_params math;
    struct scratch_params scratch;
    struct ipcq_params ipcq;
    struct link_params link[LEVELS]; /* PE mesh, CUBE mesh, IO dies */
    struct network_params network;
    struct {
        uint64_t host_ps;
    } launch;
};

enum { STRIPE_ELEMENT_BYTES = 2 /* bf16 */ };

/* A stripe of the stack is a sub-tile of the scheduler, so that one is fetched from one share. */
static inline struct stripe machine_stripe(const struct machine_params *params)
{
    return (struct stripe){params->sched.tile_k * params->sched.tile_n * STRIPE_ELEMENT_BYTES,
                           grid_size(params->geometry.pes)};
}

#endif
