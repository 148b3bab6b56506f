/* The CPU's state, and the table of commands in flight. */
#ifndef AHBM_MACHINE_CPU_STATE_H
#define AHBM_MACHINE_CPU_STATE_H

#include "machine/parts/cpu/cpu.h"

enum { SPANS = 8, FLIGHTS_START = 8, NO_FLIGHT = 0xffff };

/* Bytes [first, end) of one memory. */
struct span {
    uint64_t first, end;
    uint32_t memory; /* 0: scratch; 1 + pe: that PE's HBM share */
};

struct cause {
    uint64_t command;
    uint32_t cube;
    uint16_t pe;
    uint8_t kind; /* enum trace_cause */
};

/* A command in flight; what every sub-tile touches comes first. */
struct flight {
    /* transfers and messages: bytes not yet done; composites: the scheduler's plan */
    uint64_t bytes_left;
    uint64_t m_tiles, k_tiles, n_tiles;
    uint64_t fetch_k, fetch_n, fetch_addr; /* next sub-tile */
    uint64_t steps_left, k_left;           /* sub-tiles of the plan; of the current output tile */
    uint64_t n_done;                       /* output tiles */
    uint64_t epilogues_left;
    uint64_t least_end_ps; /* it does not end before; 0: nothing known */
    uint64_t number;       /* in the program, from 1 */
    struct command command;
    uint32_t place;         /* in pe->in_flight */
    uint64_t last_fragment; /* messages: of this command, counted over its queue from 1 ... */
    uint64_t message;       /* ... and its own number in its queue, from 0 */
    uint64_t issue_ps, start_ps;
    struct cause cause;
    struct span reads[SPANS], writes[SPANS];
    uint32_t n_reads, n_writes;
};

enum cpu_state { CPU_IDLE, CPU_READY, CPU_STALLED, CPU_BLOCKED, CPU_ENDED };

struct cpu {
    enum cpu_state state;
    uint16_t draft;         /* flight of the command taken from the program and not yet issued */
    uint16_t blocked_on;    /* flight, in CPU_BLOCKED */
    uint8_t stall;          /* in CPU_STALLED: the trace_cause that will end it */
    struct cause cause;     /* why the next command can be issued now */
    uint64_t busy_until_ps; /* least end of what has been issued, in CPU time */
    uint64_t serial_ps;     /* serial work issued so far */
    uint64_t busy_ps;
    /* accepted by the engines and not ended; what bounds the commands in flight */
    uint64_t accepted[CPU_QUEUES];
    uint64_t sent[QUEUES], taken[QUEUES]; /* sends and receives issued so far */
    uint64_t out[QUEUES], in[QUEUES];     /* their fragments */
    uint64_t emitted;                     /* commands issued that make something leave the CUBE */
    struct cpu_stats stats;
};

/* The queue that the command enters. */
uint32_t cpu_queue(const struct command *command);

/* ---- scoreboard.c ---- */
void flight_note_spans(struct flight *flight);
/* Whether a command must wait for `other`, which is in flight and writes what it touches, or reads
 * what it writes (so WAIT, whose only operand is `out`, waits for all that touches that). */
bool flight_conflict(const struct flight *flight, const struct flight *other);
/* Whether it must wait for any command in flight. */
bool scoreboard_conflict(const struct pe *pe, const struct flight *flight);

/* Notes that a command's engine begins at `start`, and why: the cause of its issue, or `busy_with`
 * when the engine was busy with that command of the same PE at `now`. */
void flight_start(struct flight *flight, uint64_t now, uint64_t start, uint64_t busy_with);

#endif
