/* Until when a CPU waits, at least: lower bounds from what is known of the commands in flight. */
#include "hw/machine.h"

static bool to_another_cube(const struct command *command)
{
    return queue_level((enum queue_id)command->queue) != LEVEL_PE;
}

uint64_t credit_time(const struct hw_params *params, const struct ipcq_queue *q, uint64_t number)
{
    return number <= params->ipcq.slots
               ? 0
               : inbound_time(params, &q->credit_packets, number - params->ipcq.slots);
}

/* A command in flight ends not before this. */
static uint64_t end_at(const struct cube *cube, const struct pe *pe, const struct slot *slot)
{
    const struct command *command = &slot->command;
    const struct ipcq_queue *q = &pe->ipcq.queue[command->queue];
    switch (command->op) {
    case OP_SEND:
        return to_another_cube(command) ? credit_time(cube->params, q, slot->last_fragment) : 0;
    case OP_RECV:
    case OP_RECV_ASYNC: /* queues are in order: not before a drain that is in progress */
        return to_another_cube(command) ? time_max(inbound_time(cube->params, &q->data,
                                                                slot->last_fragment),
                                                   q->drain_end_ps)
                                        : 0;
    default:
        return slot->least_end_ps;
    }
}

/* It waits for all of its operands, or for room in a queue: the first that leaves it. */
static uint64_t stalled_until(const struct cube *cube, const struct pe *pe)
{
    bool first = pe->cpu.stall == CAUSE_QUEUE;
    uint64_t until = first ? TIME_NEVER : 0;
    for (uint64_t waits = pe->cpu.waits; waits != 0; waits &= waits - 1) {
        uint64_t end = end_at(cube, pe, &pe->slots[__builtin_ctzll(waits)]);
        until = first ? time_min(until, end) : time_max(until, end);
    }
    return until;
}

uint64_t cpu_free_at(const struct cube *cube, const struct pe *pe, uint64_t next_event)
{
    const struct cpu *cpu = &pe->cpu;
    uint64_t from = time_max(next_event, cpu->busy_until_ps);
    if (cpu->state == CPU_BLOCKED)
        return time_max(from, end_at(cube, pe, &pe->slots[cpu->blocked_on]));
    if (cpu->state == CPU_STALLED)
        return time_max(from, stalled_until(cube, pe));
    return from;
}
