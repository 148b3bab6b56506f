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

/* When the next message of a queue from another CUBE is here at the earliest; infinite when none is
 * on its way. */
static uint64_t message_at(const struct cube *cube, const struct pe *pe, uint32_t queue,
                           uint64_t next_event)
{
    const struct ipcq_queue *q = &pe->ipcq.queue[queue];
    uint32_t number = (uint32_t)(pe - cube->pe);
    if (q->drain_end_ps != 0)
        return q->drain_end_ps;
    uint64_t least = q->arrived_count > 0 ? next_event : TIME_NEVER;
    for (uint32_t i = 0; i < cube->pending_count; i++) {
        const struct pending *pending = &cube->pending[i];
        if (pending->queue == queue && pending->kind == PACKET_DATA &&
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
    const struct command *command = &pe->slots[cpu->blocked_on].command;
    if (cpu->state == CPU_BLOCKED && command->op == OP_RECV &&
        queue_level((enum queue_id)command->queue) != LEVEL_PE)
        from = message_at(cube, pe, command->queue, next_event);
    return time_max(from, cpu->busy_until_ps);
}

/* The least time of the end of an emission's issue, when the CPU can go on at `from`. */
static uint64_t issued(const struct cube *cube, const struct pe *pe, uint64_t from,
                       uint64_t next_event, const struct emission *emission)
{
    uint64_t least = time_add(from, emission->serial_ps - pe->cpu.serial_ps);
    for (int s = 0; s < STREAMS; s++) {
        uint64_t accepted = pe->hbm.own_bytes[s];
        if (emission->bytes[s] > accepted)
            least = time_max(
                least, time_add(hbm_earliest(cube, pe, next_event, emission->bytes[s] - accepted),
                                emission->after_ps[s]));
    }
    return least;
}

/* Whether the emission is the credit of a message that this CUBE would first have to receive. */
static bool needs_message(const struct cube *cube, const struct pe *pe,
                          const struct emission *emission)
{
    return emission->op != OP_SEND && message_at(cube, pe, emission->queue, 0) == TIME_NEVER;
}

/* A later emission may arrive before an earlier one: a credit flies shorter than a copy. */
static uint64_t pe_promise(struct cube *cube, struct pe *pe, uint64_t next_event)
{
    const struct outlook *outlook = &pe->outlook;
    if (pe->program == NULL || pe->cpu.state == CPU_ENDED ||
        outlook_next(&pe->outlook, pe->program) == NULL)
        return TIME_NEVER;
    uint64_t from = cpu_free(cube, pe, next_event), least = TIME_NEVER, time = from;
    uint64_t shortest = least_flight(cube->params);
    if (from == TIME_NEVER)
        return TIME_NEVER;
    for (uint32_t i = 0; i < outlook->count; i++) {
        const struct emission *emission = outlook_at(outlook, i);
        time = issued(cube, pe, from, next_event, emission);
        if (needs_message(cube, pe, emission)) {
            if (emission->op == OP_RECV) /* and so does all that comes after it */
                return least;
            continue;
        }
        least = time_min(least, time_add(time, emission->flight_ps));
        if (time_add(time, shortest) >= least)
            return least;
    }
    return outlook->ended ? least : time_add(time, shortest);
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
