/* What promises may know of a CPU and its commands in flight. */
#include "machine/machine.h"

uint64_t cpu_serial_ps(const struct machine_params *params, const struct command *command)
{
    uint64_t issue = params->cpu.issue_ps[command->op];
    if (command->op == OP_MATH)
        return time_add(issue, math_least_ps(params, command));
    if (command->op == OP_RECV)
        return issue + server_least(params->scratch.rate, operand_bytes(&command->out));
    return issue;
}

/* The CPU waits for all of its operands, or for room in a queue: for the first that leaves it. */
static uint64_t stalled_until(const struct pe *pe, cpu_end_bound *bound, void *context)
{
    const struct flight *draft = &pe->flights[pe->cpu.draft], *other;
    bool full = pe->cpu.stall == CAUSE_QUEUE;
    uint64_t until = full ? TIME_NEVER : 0;
    for (uint32_t i = 0; i < pe->in_flight_count; i++) {
        other = &pe->flights[pe->in_flight[i]];
        if (full && cpu_queue(&other->command) == cpu_queue(&draft->command))
            until = time_min(until, bound(context, pe, other));
        else if (!full && flight_conflict(draft, other))
            until = time_max(until, bound(context, pe, other));
    }
    return until;
}

uint64_t cpu_least_busy(const struct pe *pe, uint64_t now)
{
    return time_max(now, pe->cpu.busy_until_ps);
}

uint64_t cpu_least_free(const struct pe *pe, uint64_t now, cpu_end_bound *bound, void *context)
{
    uint64_t from = cpu_least_busy(pe, now);
    if (pe->cpu.state == CPU_BLOCKED)
        return time_max(from, bound(context, pe, &pe->flights[pe->cpu.blocked_on]));
    if (pe->cpu.state == CPU_STALLED)
        return time_max(from, stalled_until(pe, bound, context));
    return from;
}

bool cpu_ended(const struct pe *pe)
{
    return pe->program == NULL || pe->cpu.state == CPU_ENDED;
}

uint64_t cpu_serial_done(const struct pe *pe)
{
    return pe->cpu.serial_ps;
}

uint64_t cpu_emitted(const struct pe *pe)
{
    return pe->cpu.emitted;
}

uint64_t cpu_sent(const struct pe *pe, uint32_t queue)
{
    return pe->cpu.sent[queue];
}

uint64_t cpu_accepted(const struct pe *pe, uint32_t queue)
{
    return pe->cpu.accepted[queue];
}

const struct command *flight_command(const struct flight *flight)
{
    return &flight->command;
}

uint64_t flight_least_end(const struct flight *flight)
{
    return flight->least_end_ps;
}

uint64_t flight_message(const struct flight *flight)
{
    return flight->message;
}

uint64_t flight_last_fragment(const struct flight *flight)
{
    return flight->last_fragment;
}
