/* The state of a CUBE, put together from its parts' states; for the parts and cube.c only. Parts
 * talk through messages; a part's functions touch its own struct and the table of commands in
 * flight. */
#ifndef AHBM_MACHINE_MACHINE_H
#define AHBM_MACHINE_MACHINE_H

#include "machine/access.h"
#include "machine/cube.h"
#include "machine/message.h"
#include "machine/part.h"
#include "machine/parts/cpu/cpu_state.h"
#include "machine/parts/dma/dma_state.h"
#include "machine/parts/gemm/gemm_state.h"
#include "machine/parts/hbm/hbm_state.h"
#include "machine/parts/ipcq/ipcq_state.h"
#include "machine/parts/math/math_state.h"
#include "machine/parts/network/mesh_state.h"
#include "machine/parts/network/network_state.h"
#include "machine/parts/scheduler/scheduler_state.h"

/* What every sub-tile touches comes first. */
struct pe {
    struct flight *flights; /* the table of commands in flight */
    struct scheduler sched;
    struct gemm gemm;
    struct math math;
    struct hbm hbm;
    struct dma dma;
    struct cpu cpu;
    uint32_t flights_count, free_count, in_flight_count;
    uint16_t *free_flights; /* stack */
    uint16_t *in_flight;    /* issued and not ended, in no order */
    struct program *program;
    uint64_t emissions; /* commands of the program that make something leave the CUBE */
    struct ipcq ipcq;
    struct link links[DIRECTIONS];
    struct mesh_router *router; /* with cut-through */
};

struct cube {
    const struct machine_params *params;
    struct lp *lp;
    struct trace_sink *trace;
    struct value_engine *values; /* NULL: only times */
    uint32_t id;
    uint32_t pes;
    struct pe *pe;
    struct link links[CUBE_LINKS];
    struct lookahead *lookahead;
    struct hbm_derived hbm;
    struct gemm_derived gemm;
};

/* late.c: simulated time has run out. */
void machine_late(struct lp *lp, uint32_t src);

static inline struct cube *cube_of(struct lp *lp)
{
    return lp->state;
}

static inline struct pe *pe_of(struct lp *lp, const struct event *event)
{
    return &cube_of(lp)->pe[unit_pe(event->dst)];
}

#endif
