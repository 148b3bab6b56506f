/* What a CUBE measured during a run. Everything is an integer and a function of simulated events.
 */
#ifndef AHBM_HW_RESULT_H
#define AHBM_HW_RESULT_H

#include <stdint.h>

#include "prog/op.h"

struct pe_result {
    uint64_t counts[COUNT_KINDS];
    uint64_t busy_ps[ENGINE_KINDS]; /* each at most the elapsed time */
    uint64_t read_bytes;            /* from HBM, by this PE's DMA */
    uint64_t write_bytes;
    uint64_t requests;   /* HBM requests: sub-tile fetches and pieces of loads and stores */
    uint64_t sent_bytes; /* over IPCQ */
    uint64_t received_bytes;
    uint64_t fragments;   /* slots filled at receivers */
    uint64_t gemm_steps;  /* of TILE_M x TILE_K x TILE_N */
    uint64_t useful_macs; /* M * K * N of the commands */
    uint64_t commands;    /* taken from the program */
    /* by operation: how many, from the engine's start to the end, and from issue to start */
    uint64_t op_commands[PROG_OPS_RUN], op_time_ps[PROG_OPS_RUN], op_wait_ps[PROG_OPS_RUN];
    uint64_t slots_high_water; /* filled at once in one of its queues */
    uint64_t scratch_high_water_bytes;
    uint64_t first_issue_ps; /* TIME_NEVER: no command */
    uint64_t last_store_ps;  /* end of the last store; 0: none */
    uint64_t last_end_ps;    /* end of the last command */
    uint64_t hbm_busy_ps;    /* of this PE's share: the busiest pseudo-channel */
    uint64_t hbm_read_bytes; /* served by this PE's share, for any PE */
    uint64_t hbm_write_bytes;
    uint64_t link_busy_ps[DIRECTIONS]; /* of the PE mesh, outgoing */
    uint64_t link_bytes[DIRECTIONS];
};

struct cube_result {
    uint64_t group;                        /* of CUBEs; UINT64_MAX: left over */
    uint64_t link_busy_ps[2 * DIRECTIONS]; /* outgoing: CUBE mesh N S E W, then IO die N S E W */
    uint64_t link_bytes[2 * DIRECTIONS];
    uint64_t link_packets[2 * DIRECTIONS];
    uint64_t link_wait_max_ps[2 * DIRECTIONS]; /* longest wait of a packet for the link */
    uint64_t events;
    uint64_t digest;
};

#endif
