/* Routers and links at three levels: the PE mesh, the CUBE mesh or torus, and the IO dies' links
 * between SIPs. A packet takes a dimension-ordered route hop by hop; each link is owned by the
 * router that sends on it, is held for bytes * rate, and delivers after its latency. A SIP's IO die
 * belongs to its first CUBE. */
#ifndef AHBM_MACHINE_NETWORK_H
#define AHBM_MACHINE_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "prog/op.h"
#include "support/units.h"

struct cube;
struct machine_params;

/* How packets go over links: as a whole, or the head on before the tail has come. */
enum { NETWORK_VCS_MAX = 16 };
struct network_params {
    bool cut_through;                        /* else store and forward */
    uint64_t router_ps[LEVELS];              /* from a link's end to the next link */
    uint64_t width_bytes[LEVELS];            /* of a flit; cut-through: packets are whole flits */
    uint64_t virtual_channels, buffer_flits; /* of an input port of the PE mesh; of one of them */
};

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
    uint64_t waiting_max[CUBE_LINKS]; /* most bytes that wait for it, the last packet's included */
};

/* ---- bounds, for promises ---- */

/* A time before which `bytes` that reach a link of the CUBE at `time` or later are not at its other
 * end: links serve in order. `passes`: they go on from there, which their head may do. */
uint64_t network_least(const struct cube *cube, uint32_t link, uint64_t time, uint64_t bytes,
                       bool passes);

/* The least time that anything spends on the way out of a CUBE, and on a hop of the PE mesh. */
uint64_t network_least_flight(const struct machine_params *params);
uint64_t network_least_hop(const struct machine_params *params, uint64_t bytes);

#endif
