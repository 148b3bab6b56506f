/* The DMA engine moves data between HBM shares and scratch: jobs in order, cut into requests of at
 * most `request_bytes`, issued over `channels` side by side, at most `queue_depth` outstanding. */
#ifndef AHBM_MACHINE_DMA_H
#define AHBM_MACHINE_DMA_H

#include <stdint.h>

struct dma_params {
    uint64_t setup_ps;       /* per operand of a command */
    uint64_t request_ps;     /* between two requests of a channel */
    uint64_t channels;       /* that issue requests side by side */
    uint64_t queue_depth;    /* requests outstanding */
    uint64_t request_bytes;  /* the largest request */
    uint64_t queue_commands; /* loads and stores accepted and not ended */
};

struct dma_stats {
    uint64_t read_bytes; /* from HBM, by this PE */
    uint64_t write_bytes;
    uint64_t requests; /* sub-tile fetches and pieces of loads and stores */
};

#endif
