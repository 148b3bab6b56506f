#ifndef AHBM_MACHINE_NETWORK_STATE_H
#define AHBM_MACHINE_NETWORK_STATE_H

#include "machine/message.h"
#include "machine/parts/network/network.h"
#include "machine/server.h"
#include "pdes/core/lp.h"

struct link {
    struct server server;
    uint64_t bytes, packets, wait_max_ps, waiting_max;
};

/* Sends a packet from unit `from` of this CUBE to the network, at `time`. `packet` is complete but
 * for its origin. Returns its event, for a payload. */
struct event *network_send(struct lp *lp, uint32_t from, uint64_t time, struct packet packet);

#endif
