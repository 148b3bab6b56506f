/* How far a PE is from its next emission, from the scout: the source of long lookahead.
 *
 * The scout's commands are folded into one record per command that makes something leave the CUBE.
 * A record holds sums that the simulation cannot beat (docs/adr/0003):
 *   serial_ps   the CPU's serial work from the program's start up to and including this command:
 *               issue costs and the least durations of blocking commands
 *   bytes[s]    how much stream `s` of the PE must have moved (its own HBM share) before ...
 *   after_ps[s] ... and the serial work that follows the use of that data
 * Streams are in-order each: operand fetches of composites, and loads and stores. */
#ifndef AHBM_HW_OUTLOOK_H
#define AHBM_HW_OUTLOOK_H

#include "hw/params.h"
#include "prog/program.h"

enum stream { STREAM_FETCH, STREAM_LOAD, STREAMS };
enum { OUTLOOK_RECORDS = 16, OUTLOOK_RESULTS = 8 };

/* What the fold needs to know of the machine. */
struct cost {
    const struct hw_params *params;
    struct rate share_rate;
    uint64_t spread_bytes;  /* so many touch every pseudo-channel of a share */
    uint64_t fetch_tail_ps; /* last byte of an operand at the share to the composite's result */
};

struct emission {
    uint64_t serial_ps;
    uint64_t bytes[STREAMS];
    uint64_t after_ps[STREAMS];
    uint64_t flight_ps; /* least time from the end of the issue to the arrival elsewhere */
};

/* A result that the CPU has not yet used. */
struct outlook_result {
    uint64_t first, end; /* scratch bytes */
    uint64_t bytes;      /* of the stream when it is there */
    uint64_t tail_ps;
    uint8_t stream;
    bool live;
};

struct outlook {
    struct scout_sink sink; /* first: the fold finds the outlook by it */
    const struct cost *cost;
    struct emission records[OUTLOOK_RECORDS]; /* ring */
    uint32_t first, count;
    bool ended; /* the scout has */
    uint64_t serial_ps;
    uint64_t moved[STREAMS]; /* bytes asked for so far */
    uint64_t used[STREAMS];  /* bytes behind the last result used */
    uint64_t after_ps[STREAMS];
    struct outlook_result results[OUTLOOK_RESULTS];
    uint32_t next_result;
    uint32_t pe; /* the PE's number: which share is its own */
};

void outlook_init(struct outlook *outlook, const struct cost *cost, uint32_t pe);

/* The next emission not yet issued, running the scout as needed; NULL when there is none. */
const struct emission *outlook_next(struct outlook *outlook, struct program *program);

/* Least time from the end of the next emission's issue to an arrival elsewhere of anything that the
 * PE emits from then on: a send does not hold up a later credit, which has no copy to wait for.
 * `least_ps` bounds what lies beyond the scout's records. There must be a next emission. */
uint64_t outlook_flight(struct outlook *outlook, struct program *program, uint64_t least_ps);

/* The CPU issued an emitting command. */
void outlook_pop(struct outlook *outlook, struct program *program);

/* The CPU time that a command takes at least: its issue, and its duration when it blocks. */
uint64_t command_serial_ps(const struct cost *cost, const struct command *command);

#endif
