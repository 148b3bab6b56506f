#ifndef AHBM_MACHINE_MESH_STATE_H
#define AHBM_MACHINE_MESH_STATE_H

#include "machine/message.h"
#include "machine/parts/network/network_state.h"

/* Ports of a router. Input: the neighbours in the four directions, and the PE. Output: likewise,
 * and the way from the PE's queue of packets into the input port of the PE. */
enum { MESH_PE = DIRECTIONS, MESH_INPUTS, MESH_ENTRY = MESH_INPUTS, MESH_OUTPUTS };
enum { NO_CHANNEL = UINT8_MAX };
#define NO_WORM UINT32_MAX

/* A packet in the mesh. */
struct worm {
    struct packet packet;
    uint32_t flits;
    uint32_t next; /* in its PE's queue, or of the free ones */
    uint16_t payload;
};

/* A packet's part in an input buffer. */
struct worm_part {
    uint32_t worm;
    uint32_t ready; /* flits that are here, or come one a cycle, and have not gone on */
    uint32_t sent;
};

/* An input buffer. */
struct channel {
    struct worm_part *parts; /* ring of `buffer_flits` + 1: the first one goes on */
    uint32_t first, count;
    uint8_t port,
        channel; /* of the first one: the output, and there; NO_CHANNEL: not yet its own */
};

/* Credits on their way back: `flits`, one a cycle from `time` on. */
struct credit {
    uint64_t time;
    uint32_t flits;
};

/* What an output knows of a virtual channel at the other end of its link. */
struct far_channel {
    struct credit *coming; /* ring of `buffer_flits` */
    uint32_t first, count;
    uint32_t credits; /* free flits of its buffer */
    bool owned;       /* by a packet whose tail has not been sent */
};

struct output {
    struct server *server;        /* of its link */
    struct far_channel *far;      /* [virtual_channels]; NULL: the PE, which takes all */
    uint64_t turn_at;             /* its next MESH_TURN; TIME_NEVER: none */
    uint32_t wanted[MESH_INPUTS]; /* channels of each input that have flits for it */
    uint32_t waiting;             /* how many */
    uint32_t lost;                /* times in a row that another output had the input */
    uint32_t last;                /* channel that sent last: input * NETWORK_VCS_MAX + channel */
};

struct mesh_router {
    struct output output[MESH_OUTPUTS];
    struct channel *channel[MESH_INPUTS]; /* [virtual_channels] */
    uint64_t input_free_at[MESH_INPUTS];  /* an input reads a flit a cycle */
    uint32_t channels;                    /* `virtual_channels` */
    struct server to_pe, from_pe;
    uint32_t queue_first, queue_last; /* packets of the PE that wait for a channel; NO_WORM */
    uint32_t queue_sent;              /* flits of the first one that went in */
    uint8_t queue_channel;
    /* Of the first PE: the packets in the CUBE's mesh. */
    struct worm *worms;
    uint32_t worms_count, worms_capacity, free_worm; /* NO_WORM: none */
};

#endif
