#ifndef AHBM_MACHINE_HBM_STATE_H
#define AHBM_MACHINE_HBM_STATE_H

#include "machine/parts/hbm/hbm.h"
#include "machine/server.h"

struct hbm {
    struct server *channels; /* pseudo-channels */
    uint64_t *refresh_at_ps; /* start of each channel's next refresh */
    uint64_t accepted[HBM_WORKS];
    struct hbm_stats stats;
};

/* What follows from the parameters, per CUBE. */
struct hbm_derived {
    uint32_t channels;        /* of a share */
    struct rate channel_rate; /* ps per byte of one pseudo-channel */
    struct rate share_rate;
};

#endif
