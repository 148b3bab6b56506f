/* The messages between the parts of a CUBE: the event kinds of the machine, in one list, each with
 * a body of its own, and the units that they go to. This is the only place where a body becomes the
 * words of an event. */
#ifndef AHBM_MACHINE_MESSAGE_H
#define AHBM_MACHINE_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "pdes/core/lp.h"
#include "prog/command.h"

/* ---- bodies: fixed sizes, no padding that could differ between ranks ---- */

/* A body lies in the words of its event and is read where it lies. */
#define BODY __attribute__((may_alias))

/* `flight` is a command's place in the PE's table of commands in flight. */
struct BODY nothing {
    uint8_t none;
};

struct BODY flight_message {
    uint16_t flight;
};

struct BODY steps_message { /* plan steps of the command */
    uint64_t steps;
    uint16_t flight;
};

struct BODY epilogue_message { /* elements of its output */
    uint64_t elements;
    uint16_t flight;
};

struct BODY queue_message { /* enum queue_id */
    uint32_t queue;
};

/* A memory access: what travels with a request and comes back with its data. */
enum access_kind { ACCESS_FETCH, ACCESS_LOAD, ACCESS_STORE };

struct BODY access {         /* one word, so that it is written and read as one */
    uint64_t requester : 32; /* DMA unit */
    uint64_t flight : 16;
    uint64_t share : 8; /* PE whose share is meant; of a DMA job also ACCESS_STACK */
    uint64_t kind : 8;
};

/* A job on the stack, whose address is the stack's; each of its requests goes to a share. */
enum { ACCESS_STACK = UINT8_MAX /* of OPERAND_STACK the low byte */ };

struct BODY memory_message {
    struct access access;
    uint64_t addr, bytes;
};

struct BODY dma_job {
    struct access access;
    uint64_t addr, bytes;
    bool first; /* of its operand: it has to be set up */
};

enum packet_kind { PACKET_DATA, PACKET_CREDIT, PACKET_ACCESS, PACKET_REPLY };

struct BODY packet {
    uint32_t destination, origin; /* units */
    uint32_t bytes;               /* on the link */
    uint8_t queue;                /* DATA, CREDIT: the receiver's */
    uint8_t kind;                 /* enum packet_kind */
    uint16_t spare;
    union {
        struct {                 /* DATA, and of a CREDIT the first */
            uint64_t command;    /* of the origin: its number in the program */
            uint32_t rows, cols; /* of the whole message */
            uint64_t dtype : 8;
            uint64_t
                lag_ps : 56; /* between CUBEs: its head is here, its tail comes so much later */
        } data;
        struct memory_message memory; /* ACCESS, REPLY */
    } of;
};

/* Flits of a packet of the PE mesh that come one after another into a virtual channel. */
struct BODY burst {
    uint32_t worm, flits;
    uint8_t port, channel;
    bool head; /* the packet's first */
};

struct BODY turn { /* an output port of the router may send again */
    uint32_t port;
};

/* ---- the list ---- */

/* X(id, handler, part, body) */
#define MACHINE_MESSAGES(X)                                                                        \
    X(CPU_RUN, cpu_run, CPU, struct nothing)                                                       \
    X(CPU_DONE, cpu_done, CPU, struct flight_message)                                              \
    X(SCHED_COMMAND, sched_command, SCHED, struct flight_message)                                  \
    X(SCHED_STEP, sched_step, SCHED, struct steps_message)                                         \
    X(SCHED_EPILOGUE, sched_epilogue, SCHED, struct flight_message)                                \
    X(DMA_JOB, dma_job, DMA, struct dma_job)                                                       \
    X(DMA_DATA, dma_data, DMA, struct memory_message)                                              \
    X(HBM_ACCESS, hbm_access, HBM, struct memory_message)                                          \
    X(GEMM_STEP, gemm_step, GEMM, struct steps_message)                                            \
    X(MATH_RUN, math_run, MATH, struct flight_message)                                             \
    X(MATH_EPILOGUE, math_epilogue, MATH, struct epilogue_message)                                 \
    X(IPCQ_SEND, ipcq_send, IPCQ, struct flight_message)                                           \
    X(IPCQ_COPIED, ipcq_copied, IPCQ, struct queue_message)                                        \
    X(IPCQ_RECV, ipcq_recv, IPCQ, struct flight_message)                                           \
    X(IPCQ_DRAINED, ipcq_drained, IPCQ, struct queue_message)                                      \
    X(IPCQ_PACKET, ipcq_packet, IPCQ, struct packet)                                               \
    X(PE_ROUTE, pe_route, ROUTER, struct packet)                                                   \
    X(CUBE_ROUTE, cube_route, ROUTER, struct packet)                                               \
    X(HBM_WAKE, hbm_wake, HBM, struct nothing)                                                     \
    X(MESH_BURST, mesh_burst, ROUTER, struct burst)                                                \
    X(MESH_TURN, mesh_turn, ROUTER, struct turn)                                                   \
    X(MESH_TAIL, mesh_tail, ROUTER, struct packet)

#define X(id, handler, part, body) MSG_##id,
enum message { MACHINE_MESSAGES(X) MESSAGES };
#undef X

/* The units of a PE; the unit number within a CUBE is pe * UNITS + unit. The CUBE's router comes
 * after the last PE. */
enum unit {
    UNIT_CPU,
    UNIT_SCHED,
    UNIT_DMA,
    UNIT_GEMM,
    UNIT_MATH,
    UNIT_IPCQ,
    UNIT_HBM, /* the PE's share of the stack */
    UNIT_ROUTER,
    UNITS
};

enum { MACHINE_UNIT_BITS = 10, MACHINE_PES_MAX = ((1 << MACHINE_UNIT_BITS) - 1) / UNITS };

_Static_assert((int)MACHINE_PES_MAX < (int)ACCESS_STACK, "a share's number is none");

static inline uint32_t unit_of(uint32_t cube, uint32_t pe, enum unit unit)
{
    return cube << MACHINE_UNIT_BITS | (pe * UNITS + (uint32_t)unit);
}

static inline uint32_t unit_cube(uint32_t unit)
{
    return unit >> MACHINE_UNIT_BITS;
}

static inline uint32_t unit_pe(uint32_t unit)
{
    return (unit & ((1u << MACHINE_UNIT_BITS) - 1)) / UNITS;
}

/* ---- bodies and events ---- */

/* For each message:
 *   struct event *HANDLER_send(lp, from, to, time, body)   from unit to unit
 *   struct event *HANDLER_post(lp, at, time, body)         to its own part of the PE at which `at`
 *                                                          is handled
 *   const BODY *HANDLER_body(event)                        in place: as long as the event
 *   void HANDLER(lp, event)                                 the handler, by its part */
#define X(ID, handler, part, type)                                                                 \
    _Static_assert(sizeof(type) <= EVENT_ARGS * sizeof(uint64_t), #ID " fits an event");           \
    static inline struct event *handler##_send(struct lp *lp, uint32_t from, uint32_t to,          \
                                               uint64_t time, type body)                           \
    {                                                                                              \
        struct event *event = lp_send(lp, from, to, MSG_##ID, time);                               \
        *(type *)event->arg = body;                                                                \
        return event;                                                                              \
    }                                                                                              \
    static inline struct event *handler##_post(struct lp *lp, const struct event *at,              \
                                               uint64_t time, type body)                           \
    {                                                                                              \
        uint32_t to = unit_of(lp->id, unit_pe(at->dst), UNIT_##part);                              \
        return handler##_send(lp, at->dst, to, time, body);                                        \
    }                                                                                              \
    static inline const type *handler##_body(const struct event *event)                            \
    {                                                                                              \
        return (const type *)event->arg;                                                           \
    }                                                                                              \
    lp_handler handler;
MACHINE_MESSAGES(X)
#undef X

#endif
