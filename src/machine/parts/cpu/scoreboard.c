/* Which commands in flight touch which bytes: what the CPU waits for before it issues. */
#include "machine/machine.h"

static void add_span(struct span *spans, uint32_t *count, const struct operand *operand)
{
    if (operand->space == SPACE_NONE)
        return;
    spans[(*count)++] = (struct span){operand->addr, operand->addr + operand_bytes(operand),
                                      operand->space == SPACE_HBM ? 1u + operand->pe : 0};
}

void flight_note_spans(struct flight *flight)
{
    const struct command *command = &flight->command;
    flight->n_reads = flight->n_writes = 0;
    add_span(flight->reads, &flight->n_reads, &command->a);
    add_span(flight->reads, &flight->n_reads, &command->b);
    add_span(flight->reads, &flight->n_reads, &command->c);
    add_span(flight->writes, &flight->n_writes, &command->out);
    for (int i = 0; i < 3; i++)
        add_span(flight->writes, &flight->n_writes, &command->state[i]); /* read and written */
}

static bool touch(const struct span *a, uint32_t n_a, const struct span *b, uint32_t n_b)
{
    for (uint32_t i = 0; i < n_a; i++)
        for (uint32_t k = 0; k < n_b; k++)
            if (a[i].memory == b[k].memory && a[i].first < b[k].end && b[k].first < a[i].end)
                return true;
    return false;
}

bool flight_conflict(const struct flight *flight, const struct flight *other)
{
    return touch(flight->reads, flight->n_reads, other->writes, other->n_writes) ||
           touch(flight->writes, flight->n_writes, other->writes, other->n_writes) ||
           touch(flight->writes, flight->n_writes, other->reads, other->n_reads);
}

bool scoreboard_conflict(const struct pe *pe, const struct flight *flight)
{
    for (uint32_t i = 0; i < pe->in_flight_count; i++)
        if (flight_conflict(flight, &pe->flights[pe->in_flight[i]]))
            return true;
    return false;
}

void flight_start(struct flight *flight, uint64_t now, uint64_t start, uint64_t busy_with)
{
    flight->start_ps = start;
    if (start > now) {
        flight->cause.kind = CAUSE_ENGINE;
        flight->cause.command = busy_with;
    }
}
