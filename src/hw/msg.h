/* The messages between the parts of a CUBE: the event kinds of the machine, in one list, and the
 * units that they go to. */
#ifndef AHBM_HW_MSG_H
#define AHBM_HW_MSG_H

#include <stdint.h>

#include "pdes/event.h"

/* X(id, handler): arguments in the order of event.arg. `slot` is the command's place in the PE's
 * table of commands in flight. */
#define HW_MESSAGES(X)                                                                             \
    X(CPU_RUN, cpu_run)               /* - */                                                      \
    X(CPU_DONE, cpu_done)             /* slot */                                                   \
    X(SCHED_COMMAND, sched_command)   /* slot */                                                   \
    X(SCHED_STEP, sched_step)         /* slot, plan steps */                                       \
    X(SCHED_EPILOGUE, sched_epilogue) /* slot */                                                   \
    X(DMA_JOB, dma_job)               /* access, address, bytes */                                 \
    X(DMA_DATA, dma_data)             /* access, address, bytes */                                 \
    X(HBM_ACCESS, hbm_access)         /* access, address, bytes */                                 \
    X(GEMM_STEP, gemm_step)           /* slot, plan steps */                                       \
    X(MATH_RUN, math_run)             /* slot */                                                   \
    X(MATH_EPILOGUE, math_epilogue)   /* slot, elements */                                         \
    X(IPCQ_SEND, ipcq_send)           /* slot */                                                   \
    X(IPCQ_COPIED, ipcq_copied)       /* queue */                                                  \
    X(IPCQ_RECV, ipcq_recv)           /* slot */                                                   \
    X(IPCQ_DRAINED, ipcq_drained)     /* queue */                                                  \
    X(IPCQ_PACKET, ipcq_packet)       /* a packet */                                               \
    X(PE_ROUTE, pe_route)             /* a packet */                                               \
    X(CUBE_ROUTE, cube_route)         /* a packet */

#define X(id, handler) MSG_##id,
enum message { HW_MESSAGES(X) MESSAGES };
#undef X

/* The parts of a PE; the unit number within a CUBE is pe * PARTS + part. The CUBE's router comes
 * after the last PE. */
enum part {
    PART_CPU,
    PART_SCHED,
    PART_DMA,
    PART_GEMM,
    PART_MATH,
    PART_IPCQ,
    PART_HBM, /* the PE's share of the stack */
    PART_ROUTER,
    PARTS
};

enum { HW_UNIT_BITS = 10, HW_PES_MAX = ((1 << HW_UNIT_BITS) - 1) / PARTS };

static inline uint32_t unit_of(uint32_t cube, uint32_t pe, enum part part)
{
    return cube << HW_UNIT_BITS | (pe * PARTS + (uint32_t)part);
}

static inline uint32_t unit_cube(uint32_t unit)
{
    return unit >> HW_UNIT_BITS;
}

static inline uint32_t unit_pe(uint32_t unit)
{
    return (unit & ((1u << HW_UNIT_BITS) - 1)) / PARTS;
}

/* A memory access: what travels with a request and comes back with its data. */
enum access_kind { ACCESS_FETCH, ACCESS_LOAD, ACCESS_STORE };

struct access {
    uint32_t requester; /* DMA unit */
    uint8_t share;      /* PE whose share is meant */
    uint16_t slot;
    uint8_t kind;
};

static inline uint64_t access_pack(struct access access)
{
    return (uint64_t)access.requester << 32 | (uint64_t)access.slot << 16 |
           (uint64_t)access.share << 8 | access.kind;
}

static inline struct access access_unpack(uint64_t word)
{
    return (struct access){.requester = (uint32_t)(word >> 32),
                           .slot = (uint16_t)(word >> 16),
                           .share = (uint8_t)(word >> 8),
                           .kind = (uint8_t)word};
}

/* A packet on the network, as the arguments of an event:
 *   arg 0  destination unit << 32 | origin unit
 *   arg 1  bytes on the link << 16 | queue << 8 | kind
 *   arg 2  IPCQ: number of the origin's command; access: the access word
 *   arg 3  DATA: rows << 32 | cols; access: address
 *   arg 4  DATA: dtype, first fragment or not; access: bytes asked for */
enum packet_kind { PACKET_DATA, PACKET_CREDIT, PACKET_ACCESS, PACKET_REPLY };

static inline uint32_t packet_destination(const struct event *event)
{
    return (uint32_t)(event->arg[0] >> 32);
}

static inline uint32_t packet_origin(const struct event *event)
{
    return (uint32_t)event->arg[0];
}

static inline uint64_t packet_bytes(const struct event *event)
{
    return event->arg[1] >> 16;
}

static inline uint32_t packet_queue(const struct event *event)
{
    return (event->arg[1] >> 8) & 0xff;
}

static inline enum packet_kind packet_kind(const struct event *event)
{
    return (enum packet_kind)(event->arg[1] & 0xff);
}

static inline void packet_fill(struct event *event, uint32_t destination, uint32_t origin,
                               enum packet_kind kind, uint32_t queue, uint64_t bytes)
{
    event->arg[0] = (uint64_t)destination << 32 | origin;
    event->arg[1] = bytes << 16 | (uint64_t)queue << 8 | (uint64_t)kind;
}

#endif
