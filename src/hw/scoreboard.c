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

static bool conflict(const struct slot *draft, const struct slot *other)
{
    return touch(draft->reads, draft->n_reads, other->writes, other->n_writes) ||
           touch(draft->writes, draft->n_writes, other->writes, other->n_writes) ||
           touch(draft->writes, draft->n_writes, other->reads, other->n_reads);
}

uint64_t scoreboard_conflicts(const struct pe *pe, uint8_t draft)
{
    uint64_t in_flight = ~pe->free_slots & ~(UINT64_C(1) << draft), conflicts = 0;
    for (; in_flight != 0; in_flight &= in_flight - 1) {
        const struct slot *other = &pe->slots[__builtin_ctzll(in_flight)];
        if (conflict(&pe->slots[draft], other))
            conflicts |= in_flight & -in_flight;
    }
    return conflicts;
}

void slot_start(struct slot *slot, uint64_t now, uint64_t start, uint64_t busy_with)
{
    slot->start_ps = start;
    if (start > now) {
        slot->cause.kind = CAUSE_ENGINE;
        slot->cause.command = busy_with;
    }
}
