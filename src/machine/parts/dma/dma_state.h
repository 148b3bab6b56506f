#ifndef AHBM_MACHINE_DMA_STATE_H
#define AHBM_MACHINE_DMA_STATE_H

#include "machine/message.h"
#include "machine/parts/dma/dma.h"
#include "machine/server.h"

enum { DMA_CHANNELS_MAX = 64 };

/* A sub-tile on its way: it may come in several requests, and those out of order. */
struct dma_fetch {
    uint64_t first, end; /* addresses */
    uint64_t bytes_left;
    uint16_t flight;
};

struct dma {
    struct dma_job *jobs; /* ring; `bytes` are those left, `first` until the operand was set up */
    uint32_t capacity, first, count;
    struct dma_fetch *fetches; /* room for `pipeline_depth` */
    uint32_t fetches_count;
    uint64_t outstanding;
    uint64_t last_issue_ps; /* requests leave in order */
    struct activity activity;
    uint64_t channel_free_ps[DMA_CHANNELS_MAX];
    struct dma_stats stats;
};

#endif
