/* What a CUBE measured during a run. Everything is an integer and a function of simulated events;
 * each part declares its own share and describes it in its columns (column.h). */
#ifndef AHBM_MACHINE_RESULT_H
#define AHBM_MACHINE_RESULT_H

#include <stdint.h>

#include "machine/params.h"
#include "prog/op.h"

struct pe_result {
    uint64_t busy_ps[ENGINE_KINDS]; /* each at most the elapsed time */
    struct cpu_stats cpu;
    struct scheduler_stats sched;
    struct dma_stats dma;
    struct hbm_stats hbm;
    struct gemm_stats gemm;
    struct ipcq_stats ipcq;
    struct pe_link_stats links;
};

struct cube_result {
    uint64_t group; /* of CUBEs; UINT64_MAX: left over */
    struct cube_link_stats links;
    uint64_t events;
    uint64_t digest;
};

#endif
