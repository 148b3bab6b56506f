/* The CUBE's promise (docs/adr/0003): a time before which nothing that it sends can arrive
 * elsewhere if it receives nothing more. Sums of least durations only: contention is never
 * estimated. */
#include "hw/machine.h"
#include "support/memory.h"

void cube_announce(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    if (cube->pending_count == cube->pending_capacity) {
        cube->pending_capacity = cube->pending_capacity ? 2 * cube->pending_capacity : 16;
        cube->pending = memory_resize(cube->pending, cube->pending_capacity, sizeof *cube->pending);
    }
    cube->pending[cube->pending_count++] = (struct pending){
        .time = event->time,
        .src = event->src,
        .seq = event->seq,
        .destination = packet_destination(event),
        .queue = (uint8_t)packet_queue(event),
        .kind = (uint8_t)packet_kind(event),
    };
}

void pending_remove(struct cube *cube, const struct event *event)
{
    for (uint32_t i = 0; i < cube->pending_count; i++)
        if (cube->pending[i].seq == event->seq && cube->pending[i].src == event->src) {
            cube->pending[i] = cube->pending[--cube->pending_count];
            return;
        }
    error_bug("event %u of unit %u was dispatched but never announced", event->seq, event->src);
}

/* The least time that anything spends on the way out of this CUBE. */
static uint64_t least_flight(const struct hw_params *params)
{
    return time_min(params->link[LEVEL_CUBE].latency_ps, params->link[LEVEL_SIP].latency_ps);
}

/* A message that lies in the queue: it may be passed on, set a waiting copy free, or be taken by a
 * recv that is already waiting. What the CPU does after it is in pe_promise(). */
static uint64_t pending_promise(const struct cube *cube, const struct pending *pending)
{
    uint64_t soon = time_add_saturated(pending->time, least_flight(cube->params));
    if (unit_cube(pending->destination) != cube->id)
        return soon;
    const struct cpu *cpu = &cube->pe[unit_pe(pending->destination)].cpu;
    uint64_t waiting =
        pending->kind == PACKET_CREDIT ? cpu->sends[pending->queue] : cpu->recvs[pending->queue];
    return waiting > 0 ? soon : TIME_NEVER;
}

/* Copies and drains towards other CUBEs that are in progress, or on their way from the CPU. */
static uint64_t ipcq_promise(const struct cube *cube, const struct pe *pe, uint64_t next_event)
{
    uint64_t least = TIME_NEVER;
    for (uint32_t queue = QUEUE_CUBE_N; queue < QUEUES; queue++) {
        const struct ipcq_queue *q = &pe->ipcq.queue[queue];
        uint64_t copy_ps = cube->params->ipcq.copy_ps[queue_level((enum queue_id)queue)];
        if (q->copy_end_ps != 0)
            least = time_min(least, q->copy_end_ps);
        else if (pe->cpu.sends[queue] > q->sends.count)
            least = time_min(least, time_add_saturated(next_event, copy_ps));
        if (q->drain_end_ps != 0)
            least = time_min(least, q->drain_end_ps);
        else if (pe->cpu.recvs[queue] > q->recvs.count && q->arrived_count > 0)
            least = time_min(least, next_event);
    }
    return time_add_saturated(least, least_flight(cube->params));
}

/* When the message that the CPU waits for in a recv from another CUBE arrives at the earliest. */
static uint64_t awaited(const struct cube *cube, const struct pe *pe, uint64_t next_event)
{
    const struct slot *slot = &pe->slots[pe->cpu.blocked_on];
    const struct ipcq_queue *q = &pe->ipcq.queue[slot->command.queue];
    uint32_t number = (uint32_t)(pe - cube->pe);
    if (q->drain_end_ps != 0)
        return q->drain_end_ps;
    uint64_t least = q->arrived_count > 0 ? next_event : TIME_NEVER;
    for (uint32_t i = 0; i < cube->pending_count; i++) {
        const struct pending *pending = &cube->pending[i];
        if (pending->queue == slot->command.queue && pending->kind == PACKET_DATA &&
            unit_cube(pending->destination) == cube->id && unit_pe(pending->destination) == number)
            least = time_min(least, pending->time);
    }
    return least;
}

/* The earliest time at which the CPU can go on. */
static uint64_t cpu_free(const struct cube *cube, const struct pe *pe, uint64_t next_event)
{
    const struct cpu *cpu = &pe->cpu;
    uint64_t from = next_event;
    if (cpu->state == CPU_BLOCKED && pe->slots[cpu->blocked_on].command.op == OP_RECV &&
        queue_level((enum queue_id)pe->slots[cpu->blocked_on].command.queue) != LEVEL_PE)
        from = awaited(cube, pe, next_event);
    return time_max(from, cpu->busy_until_ps);
}

static uint64_t pe_promise(struct cube *cube, struct pe *pe, uint64_t next_event)
{
    const struct emission *emission;
    if (pe->program == NULL || pe->cpu.state == CPU_ENDED)
        return TIME_NEVER;
    emission = outlook_next(&pe->outlook, pe->program);
    uint64_t from = emission == NULL ? TIME_NEVER : cpu_free(cube, pe, next_event);
    if (from == TIME_NEVER)
        return TIME_NEVER;
    uint64_t least = time_add(from, emission->serial_ps - pe->cpu.serial_ps);
    for (int s = 0; s < STREAMS; s++) {
        uint64_t accepted = pe->hbm.own_bytes[s];
        if (emission->bytes[s] > accepted)
            least = time_max(
                least, time_add(hbm_earliest(cube, pe, next_event, emission->bytes[s] - accepted),
                                emission->after_ps[s]));
    }
    uint64_t flight = outlook_flight(&pe->outlook, pe->program, least_flight(cube->params));
    return time_add(least, flight);
}

uint64_t cube_promise(struct lp *lp, uint64_t next_event)
{
    struct cube *cube = cube_of(lp);
    uint64_t least = TIME_NEVER;
    for (uint32_t i = 0; i < cube->pending_count; i++)
        least = time_min(least, pending_promise(cube, &cube->pending[i]));
    for (uint32_t pe = 0; pe < cube->pes; pe++) {
        least = time_min(least, ipcq_promise(cube, &cube->pe[pe], next_event));
        least = time_min(least, pe_promise(cube, &cube->pe[pe], next_event));
    }
    return least;
}
