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

uint64_t cube_reaction(const struct lp *lp, uint32_t to)
{
    (void)to; /* all CUBEs are alike */
    return least_flight(((const struct cube *)lp->state)->params);
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

static uint64_t record_time(struct cube *cube, struct pe *pe, const struct emission *record,
                            uint64_t next_event, uint32_t depth);

/* The end of the issue of send `index` of a PE's queue; false: it is over, or nothing is known. */
static bool send_time(struct cube *cube, struct pe *pe, uint8_t queue, uint64_t index,
                      uint64_t next_event, uint32_t depth, uint64_t *time)
{
    const struct emission *last = NULL, *record;
    uint64_t at = pe->cpu.sent[queue];
    if (pe->program == NULL || at > index)
        return false;
    for (uint32_t i = 0; i < OUTLOOK_RECORDS; i++) {
        record = outlook_at(&pe->outlook, pe->program, i);
        if (record == NULL)
            break;
        last = record;
        if (record->queue == queue && at++ == index)
            break;
    }
    /* A send further ahead than the scout comes later than all that it has seen. */
    if (last != NULL)
        *time = record_time(cube, pe, last, next_event, depth);
    return last != NULL;
}

/* When what a record's PE waits for lets it go on to the record. */
static uint64_t dependency_time(struct cube *cube, const struct pe *pe,
                                const struct dependency *after, uint64_t next_event, uint32_t depth)
{
    const struct ipcq_queue *q = &pe->ipcq.queue[after->queue];
    if (!after->known || depth == 0 || q->received > after->index || q->peer == NO_PEER)
        return 0;
    enum queue_id theirs =
        queue_at(LEVEL_PE, direction_opposite(queue_direction((enum queue_id)after->queue)));
    uint64_t sent;
    if (!send_time(cube, &cube->pe[unit_pe(q->peer)], (uint8_t)theirs, after->index, next_event,
                   depth - 1, &sent))
        return 0;
    return time_add_saturated(sent, after->ps);
}

/* The earliest end of the issue of a record's command: the latest of several lower bounds. */
static uint64_t record_time(struct cube *cube, struct pe *pe, const struct emission *record,
                            uint64_t next_event, uint32_t depth)
{
    uint64_t from = cpu_free(cube, pe, next_event);
    if (from == TIME_NEVER)
        return TIME_NEVER;
    uint64_t least = time_add(from, record->serial_ps - pe->cpu.serial_ps);
    for (int s = 0; s < STREAMS; s++) {
        uint64_t accepted = pe->hbm.own_bytes[s];
        if (record->bytes[s] > accepted)
            least = time_max(
                least, time_add(hbm_earliest(cube, pe, next_event, record->bytes[s] - accepted),
                                record->after_ps[s]));
    }
    return time_max(least, dependency_time(cube, pe, &record->after, next_event, depth));
}

static bool is_fragment_for(const struct cube *cube, const struct pending *pending, uint32_t pe,
                            uint8_t queue)
{
    return pending->queue == queue && pending->kind == PACKET_DATA &&
           unit_cube(pending->destination) == cube->id && unit_pe(pending->destination) == pe;
}

/* Fragments for a queue of a PE that lie in the LP's queue, up to `time`. */
static uint64_t fragments_until(const struct cube *cube, uint32_t pe, uint8_t queue, uint64_t time)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < cube->pending_count; i++)
        count +=
            cube->pending[i].time <= time && is_fragment_for(cube, &cube->pending[i], pe, queue);
    return count;
}

/* When all fragments that a receive needs to begin are there: 0: they are; TIME_NEVER: one of them
 * has not been sent, and the receive returns no credit if nothing more comes. */
static uint64_t message_time(const struct cube *cube, const struct pe *pe,
                             const struct emission *record)
{
    uint32_t number = (uint32_t)(pe - cube->pe);
    uint64_t here = pe->ipcq.queue[record->queue].fragments, time = TIME_NEVER;
    if (here >= record->fragments)
        return 0;
    for (uint32_t i = 0; i < cube->pending_count; i++) {
        uint64_t at = cube->pending[i].time;
        if (at < time && is_fragment_for(cube, &cube->pending[i], number, record->queue) &&
            here + fragments_until(cube, number, record->queue, at) >= record->fragments)
            time = at;
    }
    return time;
}

/* The earliest arrival elsewhere of what the record's command lets leave; TIME_NEVER: nothing does,
 * if nothing more comes. */
static uint64_t leaving_time(struct cube *cube, struct pe *pe, const struct emission *record,
                             uint64_t next_event)
{
    uint64_t message = record->leaves ? message_time(cube, pe, record) : TIME_NEVER;
    if (message == TIME_NEVER)
        return TIME_NEVER;
    uint64_t issued = record_time(cube, pe, record, next_event, cube->pes);
    return time_add_saturated(time_max(issued, message), record->flight_ps);
}

/* The least over the PE's records: one that comes later in the program may arrive first, as a
 * credit flies shorter than a copy. What the scout has not seen is issued after its last record. */
static uint64_t pe_promise(struct cube *cube, struct pe *pe, uint64_t next_event)
{
    uint64_t least = TIME_NEVER, shortest = least_flight(cube->params), issued = 0;
    if (pe->program == NULL || pe->cpu.state == CPU_ENDED)
        return TIME_NEVER;
    for (uint32_t i = 0; i < OUTLOOK_RECORDS; i++) {
        const struct emission *record = outlook_at(&pe->outlook, pe->program, i);
        if (record == NULL)
            return least;
        least = time_min(least, leaving_time(cube, pe, record, next_event));
        if (record->blocks && record->leaves && message_time(cube, pe, record) == TIME_NEVER)
            return least; /* nothing behind it is issued before its message comes */
        issued = record_time(cube, pe, record, next_event, cube->pes);
        if (time_add_saturated(issued, shortest) >= least)
            return least;
    }
    return time_min(least, time_add_saturated(issued, shortest));
}

uint64_t cube_promise(struct lp *lp, uint64_t next_event)
{
    struct cube *cube = cube_of(lp);
    uint64_t least = TIME_NEVER;
    if (cube->short_sighted)
        return time_add_saturated(next_event, least_flight(cube->params));
    for (uint32_t i = 0; i < cube->pending_count; i++)
        least = time_min(least, pending_promise(cube, &cube->pending[i]));
    for (uint32_t pe = 0; pe < cube->pes; pe++) {
        least = time_min(least, ipcq_promise(cube, &cube->pe[pe], next_event));
        least = time_min(least, pe_promise(cube, &cube->pe[pe], next_event));
    }
    return least;
}
