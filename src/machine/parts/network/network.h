/* Routers and links at three levels: the PE mesh, the CUBE mesh or torus, and the IO dies' links
 * between SIPs. A packet takes a dimension-ordered route hop by hop; each link is owned by the
 * router that sends on it, is held for bytes * rate, and delivers after its latency. A SIP's IO die
 * belongs to its first CUBE. */
#ifndef AHBM_MACHINE_NETWORK_H
#define AHBM_MACHINE_NETWORK_H

#include <stdint.h>

#include "prog/op.h"
#include "support/units.h"

struct cube;
struct machine_params;

/* A link or port: FIFO occupancy of bytes * rate, then latency. */
struct link_params {
    struct rate rate; /* ps per byte */
    uint64_t latency_ps;
};

/* Outgoing links of a CUBE: the four of the CUBE mesh, then the four of the IO die. */
enum { CUBE_LINKS = 2 * DIRECTIONS };

struct pe_link_stats { /* of the PE mesh, outgoing */
    uint64_t busy_ps[DIRECTIONS];
    uint64_t bytes[DIRECTIONS];
};

struct cube_link_stats {
    uint64_t busy_ps[CUBE_LINKS];
    uint64_t bytes[CUBE_LINKS];
    uint64_t packets[CUBE_LINKS];
    uint64_t wait_max_ps[CUBE_LINKS]; /* longest wait of a packet for the link */
};

/* ---- bounds, for promises ---- */

/* A time before which `bytes` that reach a link of the CUBE at `time` or later are not at its other
 * end: links serve in order. */
uint64_t network_least(const struct cube *cube, uint32_t link, uint64_t time, uint64_t bytes);

/* The least time that anything spends on the way out of a CUBE, and on a hop of the PE mesh. */
uint64_t network_least_flight(const struct machine_params *params);
uint64_t network_least_hop(const struct machine_params *params, uint64_t bytes);

#endif
