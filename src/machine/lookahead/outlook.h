/* How far a PE is from its next emission, from the scout: the source of long lookahead.
 *
 * The scout's commands are folded into one emission per command that makes something leave the PE
 * for another: a copy to a PE of this or another CUBE, or a credit to another CUBE. An emission
 * holds sums that the simulation cannot beat (docs/promises.md): serial_ps   the CPU's serial work
 * from the program's start up to and including this command: issue costs and the least durations of
 * blocking commands work[s]     how much stream `s` of the PE must have done before ... after_ps[s]
 * ... and the serial work that follows the use of its result after       the last blocking receive
 * from a PE of this CUBE before it, and the least time from the issue of the matching send to this
 * emission Streams are in-order each: operand fetches of composites, and loads and stores, in bytes
 * of the PE's own HBM share; and plans whose operands are all in scratch, in cycles of the MAC
 * array. */
#ifndef AHBM_MACHINE_OUTLOOK_H
#define AHBM_MACHINE_OUTLOOK_H

#include "machine/params.h"
#include "prog/program.h"

enum stream { STREAM_FETCH, STREAM_LOAD, STREAM_GEMM, STREAMS };
enum { OUTLOOK_EMISSIONS = 32, OUTLOOK_RESULTS = 8 };

/* What follows from the machine's parameters. */
struct cost {
    const struct machine_params *params;
    struct rate rate[STREAMS];
    uint64_t step_cycles;      /* of the MAC array */
    uint64_t spread_bytes;     /* so many touch every pseudo-channel of a share */
    uint64_t tail_ps[STREAMS]; /* end of the stream's work to the command's result */
};

struct cost cost_of(const struct machine_params *params);

/* What a PE's work waits for: message `index` of a queue, counted from 0 on both sides. */
struct dependency {
    bool known;
    uint8_t queue; /* the receiver's */
    uint64_t index;
    uint64_t ps; /* least time from the end of the send's issue to here */
};

struct emission {
    uint64_t serial_ps;
    uint64_t work[STREAMS];
    uint64_t after_ps[STREAMS];
    struct dependency after;
    uint64_t fragment;   /* the first one of this command, counted over its queue from 1 */
    uint64_t leave_ps;   /* least time from its issue, and its message or credit, to the link ... */
    uint64_t link_bytes; /* ... and the bytes of what leaves then */
    uint64_t bytes;      /* of the whole message */
    uint8_t queue;
    bool send;   /* else a receive */
    bool leaves; /* the CUBE; else a send to another PE of it */
    bool blocks; /* a blocking receive: nothing after it leaves before it has begun */
};

/* A result that the CPU has not yet used. */
struct outlook_result {
    uint64_t first, end; /* scratch bytes */
    uint64_t work;       /* of the stream when it is there */
    uint8_t stream;
    bool live;
};

struct outlook {
    struct scout_sink sink; /* first: the fold finds the outlook by it */
    const struct cost *cost;
    struct emission emissions[OUTLOOK_EMISSIONS]; /* ring */
    uint32_t first, count;
    bool ended; /* the scout has */
    uint64_t serial_ps;
    uint64_t asked[STREAMS]; /* work so far */
    uint64_t used[STREAMS];  /* work behind the last result used */
    uint64_t after_ps[STREAMS];
    struct dependency after;
    uint64_t receives[QUEUES];        /* folded so far */
    uint64_t out[QUEUES], in[QUEUES]; /* fragments of the sends and receives folded so far */
    struct outlook_result results[OUTLOOK_RESULTS];
    uint32_t next_result;
    uint32_t pe; /* the PE's number: which share is its own */
};

void outlook_init(struct outlook *outlook, const struct cost *cost, uint32_t pe);

/* Record `ahead` of those not yet issued, running the scout as needed; NULL when there is none. */
const struct emission *outlook_at(struct outlook *outlook, struct program *program, uint32_t ahead);

/* The CPU issues a command that is an emission, after so much serial work. False: the scout did not
 * foresee it, or not then. */
bool outlook_pop(struct outlook *outlook, struct program *program, const struct command *command,
                 uint64_t serial_ps);

/* Whether a command is an emission. */
bool outlook_emits(const struct command *command);

#endif
