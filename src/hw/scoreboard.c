/* Which commands in flight touch which bytes: what the CPU waits for before it issues. */
#include "hw/machine.h"

static void add_range(struct range *ranges, uint32_t *count, const struct operand *operand)
{
    if (operand->space == SPACE_NONE)
        return;
    ranges[(*count)++] = (struct range){operand->addr, operand->addr + operand_bytes(operand),
                                        operand->space == SPACE_HBM ? 1u + operand->pe : 0};
}

void slot_note_ranges(struct slot *slot)
{
    const struct command *command = &slot->command;
    slot->n_reads = slot->n_writes = 0;
    add_range(slot->reads, &slot->n_reads, &command->a);
    add_range(slot->reads, &slot->n_reads, &command->b);
    add_range(slot->reads, &slot->n_reads, &command->c);
    add_range(slot->writes, &slot->n_writes, &command->out);
    for (int i = 0; i < 3; i++)
        add_range(slot->writes, &slot->n_writes, &command->state[i]); /* read and written */
}

static bool touch(const struct range *a, uint32_t n_a, const struct range *b, uint32_t n_b)
{
    for (uint32_t i = 0; i < n_a; i++)
        for (uint32_t k = 0; k < n_b; k++)
            if (a[i].memory == b[k].memory && a[i].first < b[k].end && b[k].first < a[i].end)
                return true;
    return false;
}

bool slot_conflict(const struct slot *slot, const struct slot *other)
{
    return touch(slot->reads, slot->n_reads, other->writes, other->n_writes) ||
           touch(slot->writes, slot->n_writes, other->writes, other->n_writes) ||
           touch(slot->writes, slot->n_writes, other->reads, other->n_reads);
}

bool scoreboard_conflict(const struct pe *pe, const struct slot *slot)
{
    for (uint32_t i = 0; i < pe->in_flight_count; i++)
        if (slot_conflict(slot, &pe->slots[pe->in_flight[i]]))
            return true;
    return false;
}

void slot_start(struct slot *slot, uint64_t now, uint64_t start, uint64_t busy_with)
{
    slot->start_ps = start;
    if (start > now) {
        slot->cause.kind = CAUSE_ENGINE;
        slot->cause.command = busy_with;
    }
}
