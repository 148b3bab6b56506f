/* What other CUBEs have sent to this one and lies in the LP's queue. The packets of a queue pair
 * take one way, over links that keep their order, so they come in the order in which they were
 * announced. */
#ifndef AHBM_MACHINE_INBOUND_H
#define AHBM_MACHINE_INBOUND_H

#include <stdint.h>

struct event;

struct inbound_packet {
    uint64_t time;
    uint64_t bytes;
};

/* The packets of one queue, in order. */
struct inbound {
    struct inbound_packet *packets; /* ring of `room`, which grows to `slots` */
    uint32_t first, count, room;
    uint64_t came; /* before these */
};

/* Packets that will be passed on to another CUBE. */
struct passing {
    struct passing_packet {
        uint64_t time;
        uint32_t src, seq;
    } * packets;
    uint32_t count, capacity;
};

/* When packet `number` of its queue, counted from 1, comes: 0: it has come; TIME_NEVER: it has not
 * been sent yet. */
uint64_t inbound_time(const struct inbound *inbound, uint64_t number);

#endif
