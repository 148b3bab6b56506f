/* Inter-PE queues. Each queue pair has its own FIFOs and blocks only itself: a send is cut into
 * fragments of at most a slot, each of which needs a credit; a recv drains slots in order into
 * scratch and returns their credits. */
#ifndef AHBM_MACHINE_IPCQ_H
#define AHBM_MACHINE_IPCQ_H

#include <stdbool.h>
#include <stdint.h>

#include "prog/command.h"

struct cube;
struct pe;
struct flight;
struct machine_params;

struct ipcq_params {
    uint64_t slots; /* per queue pair */
    uint64_t slot_bytes;
    uint64_t queue_commands;  /* sends (receives) accepted per queue pair and not ended */
    uint64_t credit_bytes;    /* of a credit message */
    uint64_t copy_ps[LEVELS]; /* per copy; inside a CUBE, between CUBEs, between SIPs */
};

struct ipcq_stats {
    uint64_t sent_bytes;
    uint64_t received_bytes;
    uint64_t fragments;        /* slots filled at receivers */
    uint64_t slots_high_water; /* filled at once in one of its queues */
};

/* Slots that a message command fills or empties, and bytes of the first of them. */
uint64_t ipcq_fragments(const struct machine_params *params, const struct command *command);
uint64_t ipcq_first_fragment(const struct machine_params *params, const struct command *command);

/* What copying a fragment out of scratch takes: the first of a message pays for the copy. */
uint64_t ipcq_copy_ps(const struct machine_params *params, enum queue_level level, bool first,
                      uint64_t bytes);

/* ---- bounds, for promises ---- */

/* A packet on its way out: a time before which it does not reach the link, and its bytes. */
struct departure {
    uint64_t time; /* TIME_NEVER: nothing leaves */
    uint64_t bytes;
};

/* The next packet of sends that a queue to another CUBE has accepted, or will from the CPU; `now`:
 * nothing happens before; `credit`: when its next credit comes. */
struct departure ipcq_copy_least(const struct machine_params *params, const struct pe *pe,
                                 uint32_t queue, uint64_t now, uint64_t credit);
/* The next credit of its receives; `coming`: the first packet that is on its way to it. */
struct departure ipcq_drain_least(const struct machine_params *params, const struct pe *pe,
                                  uint32_t queue, uint64_t now, struct departure coming);

/* A time before which a send in flight has not left scratch. */
uint64_t ipcq_send_least_end(const struct machine_params *params, const struct pe *pe,
                             const struct flight *flight, uint64_t now);
/* The end of the drain in progress; 0: none. */
uint64_t ipcq_drain_end(const struct pe *pe, uint32_t queue);

/* Least time from the end of a send's issue to the end of the receive in a PE of the same CUBE: the
 * copies of all fragments, the last one's way and its drain. */
uint64_t ipcq_passage_least(const struct machine_params *params, uint64_t bytes);

uint32_t ipcq_link(const struct pe *pe, uint32_t queue); /* the first link on the way out */
bool ipcq_passes(const struct pe *pe, uint32_t queue);   /* the CUBE at its end, going further */
uint64_t ipcq_received(const struct pe *pe, uint32_t queue); /* receives that have ended */
bool ipcq_has_peer(const struct pe *pe, uint32_t queue);
uint32_t ipcq_peer_pe(const struct pe *pe, uint32_t queue); /* the PE at the other end */

#endif
