/* The CPU of a PE issues the program's commands in order, each at the cost of its kind. It stalls
 * while a command in flight touches what the next one needs, or while the queue it must enter is
 * full; a blocking command holds it until it has ended. */
#ifndef AHBM_MACHINE_CPU_H
#define AHBM_MACHINE_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "prog/command.h"

struct cube;
struct pe;
struct flight;
struct machine_params;

struct cpu_params {
    uint64_t issue_ps[OP_COUNT];
};

struct cpu_stats {
    uint64_t counts[COUNT_KINDS];
    uint64_t commands; /* taken from the program */
    /* by operation: how many, from the engine's start to the end, and from issue to start */
    uint64_t op_commands[PROG_OPS_RUN], op_time_ps[PROG_OPS_RUN], op_wait_ps[PROG_OPS_RUN];
    uint64_t scratch_high_water_bytes;
    uint64_t first_issue_ps; /* TIME_NEVER: no command */
    uint64_t last_store_ps;  /* end of the last store; 0: none */
    uint64_t last_end_ps;    /* end of the last command */
};

/* The queues that commands enter, each with a limit of its own. */
enum {
    CPU_QUEUE_SCHED,
    CPU_QUEUE_DMA,
    CPU_QUEUE_SENDS, /* + the queue pair */
    CPU_QUEUE_RECVS = CPU_QUEUE_SENDS + QUEUES,
    CPU_QUEUE_NONE = CPU_QUEUE_RECVS + QUEUES, /* no limit: the command holds the CPU */
    CPU_QUEUES
};

/* ---- bounds, for promises ---- */

/* The CPU time that a command takes at least: its issue, and its duration when it blocks. */
uint64_t cpu_serial_ps(const struct machine_params *params, const struct command *command);

/* A time before which command `flight` of `pe` does not end. */
typedef uint64_t cpu_end_bound(void *context, const struct pe *pe, const struct flight *flight);

/* A time before which the CPU does not go on with its program; `now`: nothing happens before. */
uint64_t cpu_least_free(const struct pe *pe, uint64_t now, cpu_end_bound *bound, void *context);
/* The same, whatever the commands in flight do. */
uint64_t cpu_least_busy(const struct pe *pe, uint64_t now);

/* Whether there is nothing to run, or all of it has been issued. */
bool cpu_ended(const struct pe *pe);
/* So far: serial work issued (cpu_serial_ps()); commands that make something leave the CUBE; sends
 * of a queue pair. */
uint64_t cpu_serial_done(const struct pe *pe);
uint64_t cpu_emitted(const struct pe *pe);
uint64_t cpu_sent(const struct pe *pe, uint32_t queue);
/* Commands accepted by a queue (CPU_QUEUE_...) and not ended. */
uint64_t cpu_accepted(const struct pe *pe, uint32_t queue);

/* Of a command in flight. */
const struct command *flight_command(const struct flight *flight);
uint64_t flight_least_end(const struct flight *flight); /* 0: nothing known */
uint64_t flight_message(const struct flight *flight);   /* messages: number in its queue, from 0 */
/* Messages: the number of its last fragment, counted over its queue from 1. */
uint64_t flight_last_fragment(const struct flight *flight);

#endif
