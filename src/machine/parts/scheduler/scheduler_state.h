#ifndef AHBM_MACHINE_SCHEDULER_STATE_H
#define AHBM_MACHINE_SCHEDULER_STATE_H

#include "machine/fifo.h"
#include "machine/parts/scheduler/scheduler.h"

struct scheduler {
    struct fifo fetch;    /* flights whose operand is still being fetched */
    uint64_t in_pipeline; /* sub-tiles fetched, or being fetched, and not yet multiplied */
    struct scheduler_stats stats;
};

#endif
