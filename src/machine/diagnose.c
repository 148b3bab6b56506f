/* Why a run that came to rest is not finished. */
#include <stdio.h>

#include "machine/machine.h"

static bool moves(const struct command *command)
{
    return command->op == OP_SEND || command->op == OP_RECV || command->op == OP_RECV_ASYNC;
}

/* The PE that must act before `pe` can go on. */
static uint32_t waits_for(const struct pe *pe, uint32_t own)
{
    const struct cpu *cpu = &pe->cpu;
    uint16_t index = cpu->state == CPU_BLOCKED ? cpu->blocked_on : cpu->draft;
    if (index != NO_FLIGHT && moves(&pe->flights[index].command)) {
        uint32_t peer = pe->ipcq.queue[pe->flights[index].command.queue].peer;
        return unit_of(unit_cube(peer), unit_pe(peer), UNIT_CPU);
    }
    /* It waits for transfers of its own: the first queue with something stuck in it. */
    for (uint32_t i = 0; i < QUEUES; i++) {
        const struct ipcq_queue *queue = &pe->ipcq.queue[i];
        if (queue->sends.count > 0 || queue->recvs.count > 0)
            return unit_of(unit_cube(queue->peer), unit_pe(queue->peer), UNIT_CPU);
    }
    return own;
}

static void describe(const struct cube *cube, uint32_t number, char *text, size_t bytes)
{
    const struct pe *pe = &cube->pe[number];
    const struct cpu *cpu = &pe->cpu;
    uint16_t index = cpu->state == CPU_BLOCKED ? cpu->blocked_on : cpu->draft;
    if (index == NO_FLIGHT) {
        snprintf(text, bytes, "CUBE %u PE %u waits after command %llu", cube->id, number,
                 (unsigned long long)cpu->stats.commands);
        return;
    }
    const struct flight *flight = &pe->flights[index];
    const struct command *command = &flight->command;
    bool named = moves(command);
    snprintf(text, bytes, "CUBE %u PE %u waits at command %llu (%s%s%s, %s:%u)", cube->id, number,
             (unsigned long long)flight->number, op_name((enum op)command->op), named ? " " : "",
             named ? queue_name((enum queue_id)command->queue) : "", command->file, command->line);
}

static bool finished(const struct pe *pe)
{
    return pe->program == NULL || (pe->cpu.state == CPU_ENDED && pe->in_flight_count == 0);
}

/* The first command, in program order, of those in flight. */
static const struct flight *first_in_flight(const struct pe *pe)
{
    const struct flight *first = &pe->flights[pe->in_flight[0]];
    for (uint32_t i = 1; i < pe->in_flight_count; i++)
        if (pe->flights[pe->in_flight[i]].number < first->number)
            first = &pe->flights[pe->in_flight[i]];
    return first;
}

/* A PE whose program has ended while a transfer of its is stuck. */
static void describe_stuck(const struct cube *cube, uint32_t number, struct pe_wait *wait)
{
    const struct pe *pe = &cube->pe[number];
    const struct flight *flight = first_in_flight(pe);
    uint32_t peer = pe->ipcq.queue[flight->command.queue].peer;
    wait->waits_for = unit_of(unit_cube(peer), unit_pe(peer), UNIT_CPU);
    snprintf(wait->text, sizeof wait->text,
             "CUBE %u PE %u has ended, but its command %llu (%s %s, %s:%u) has not", cube->id,
             number, (unsigned long long)flight->number, op_name((enum op)flight->command.op),
             queue_name((enum queue_id)flight->command.queue), flight->command.file,
             flight->command.line);
}

uint32_t cube_unfinished(const struct cube *cube, struct pe_wait *waits, uint32_t room)
{
    uint32_t count = 0;
    for (uint32_t number = 0; number < cube->pes && count < room; number++) {
        const struct pe *pe = &cube->pe[number];
        if (finished(pe))
            continue;
        struct pe_wait *wait = &waits[count++];
        wait->unit = unit_of(cube->id, number, UNIT_CPU);
        if (pe->cpu.state == CPU_ENDED) {
            describe_stuck(cube, number, wait);
            continue;
        }
        wait->waits_for = waits_for(pe, wait->unit);
        describe(cube, number, wait->text, sizeof wait->text);
    }
    return count;
}

bool cube_leftover(const struct cube *cube, struct error *err)
{
    for (uint32_t number = 0; number < cube->pes; number++)
        for (uint32_t i = 0; i < QUEUES; i++) {
            const struct ipcq_queue *queue = &cube->pe[number].ipcq.queue[i];
            if (queue->arrived_count == 0)
                continue;
            const struct arrived *message = &queue->arrived[queue->arrived_first];
            error_set(err, ERROR_FAILED,
                      "a send without its recv: command %llu of CUBE %u PE %u sent [%u, %u] %s to "
                      "queue %s of CUBE %u PE %u, which never took it",
                      (unsigned long long)message->command, unit_cube(message->origin),
                      unit_pe(message->origin), message->rows, message->cols,
                      dtype_name((enum dtype)message->dtype), queue_name((enum queue_id)i),
                      cube->id, number);
            return true;
        }
    return false;
}
