#ifndef AHBM_MACHINE_IPCQ_STATE_H
#define AHBM_MACHINE_IPCQ_STATE_H

#include "machine/fifo.h"
#include "machine/parts/cpu/cpu_state.h"
#include "machine/parts/ipcq/ipcq.h"
#include "machine/server.h"

/* A slot that is filled. */
struct arrived {
    uint64_t command; /* the sender's */
    uint32_t rows, cols;
    uint32_t origin;
    uint32_t bytes;
    uint16_t payload; /* handle, with values */
    uint8_t dtype;
};

struct ipcq_queue {
    struct fifo sends, recvs;
    struct arrived *arrived; /* ring of `room`, which grows to `slots` */
    uint32_t arrived_first, arrived_count, arrived_room;
    uint32_t peer; /* IPCQ unit at the other end; NO_PEER */
    uint32_t link; /* to another CUBE: the first one on the way */
    bool passes;   /* other CUBEs on the way */
    uint32_t credits;
    uint64_t copy_end_ps;  /* of the copy in progress; 0: none */
    uint64_t drain_end_ps; /* of the drain in progress; 0: none */
    uint64_t fragment;     /* bytes of the copy in progress */
    uint64_t received;     /* receives that have ended */
    struct cause credit;   /* the last credit's */
};

#define NO_PEER UINT32_MAX

struct ipcq {
    struct ipcq_queue queue[QUEUES];
    struct activity activity;
    struct ipcq_stats stats;
};

#endif
