/* What lookahead keeps of a CUBE. Internal to this folder. */
#ifndef AHBM_MACHINE_LOOKAHEAD_STATE_H
#define AHBM_MACHINE_LOOKAHEAD_STATE_H

#include "machine/access.h"
#include "machine/lookahead/inbound.h"
#include "machine/lookahead/lookahead.h"
#include "machine/lookahead/outlook.h"
#include "machine/server.h"

struct pe_lookahead {
    struct outlook outlook;
    /* of queues to other CUBEs; made at the first packet */
    struct inbound data[QUEUES], credits[QUEUES];
};

struct lookahead {
    const struct machine_params *params;
    enum lookahead_kind kind;
    struct cost cost;
    struct pe_lookahead *pe; /* [pes] */
    uint32_t pes;
    struct passing passing;
};

#endif
