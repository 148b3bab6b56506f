/* The CUBE's promise (docs/adr/0003): a time before which nothing that it sends can arrive
 * elsewhere if it receives nothing more. Sums of least durations only: contention is never
 * estimated. */
#include "hw/machine.h"

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

/* The earliest arrival elsewhere of `bytes` that leave through a queue to another CUBE at `time` or
 * later: links serve in order. */
static uint64_t over_link(const struct cube *cube, const struct ipcq_queue *q, uint64_t time,
                          uint64_t bytes)
{
    enum queue_level level = q->link < DIRECTIONS ? LEVEL_CUBE : LEVEL_SIP;
    const struct link_params *link = &cube->params->link[level];
    uint64_t start = time_max(time, cube->links[q->link].server.whole_ps);
    return time_add_saturated(start, server_least(link->rate, bytes) + link->latency_ps);
}

/* The next packet of sends that the CPU has issued: of the copy in progress, or of one that begins
 * when its send reaches the IPCQ or its credit comes. */
static uint64_t copy_promise(const struct cube *cube, const struct pe *pe, uint32_t queue,
                             uint64_t next_event)
{
    const struct hw_params *params = cube->params;
    const struct ipcq_queue *q = &pe->ipcq.queue[queue];
    if (pe->cpu.sends[queue] == 0)
        return TIME_NEVER;
    if (q->copy_end_ps != 0)
        return over_link(cube, q, q->copy_end_ps, q->fragment);
    uint64_t copy_ps = params->ipcq.copy_ps[queue_level((enum queue_id)queue)], bytes = 1;
    uint64_t begin = q->credits > 0
                         ? next_event
                         : inbound_time(params, &q->credit_packets, q->credit_packets.came + 1);
    if (q->sends.count > 0) {
        const struct slot *slot = &pe->slots[ring_head(&q->sends)];
        bytes = time_min(slot->bytes_left, params->ipcq.slot_bytes);
        copy_ps = slot->bytes_left == operand_bytes(&slot->command.a) ? copy_ps : 0;
        copy_ps += rate_duration(params->scratch.rate, bytes);
    }
    return over_link(cube, q, time_add_saturated(begin, copy_ps), bytes);
}

/* The next credit of receives that the CPU has issued. */
static uint64_t drain_promise(const struct cube *cube, const struct pe *pe, uint32_t queue,
                              uint64_t next_event)
{
    const struct hw_params *params = cube->params;
    const struct ipcq_queue *q = &pe->ipcq.queue[queue];
    uint64_t begin, bytes;
    if (pe->cpu.recvs[queue] == 0)
        return TIME_NEVER;
    if (q->drain_end_ps != 0)
        return over_link(cube, q, q->drain_end_ps, params->ipcq.credit_bytes);
    if (q->arrived_count > 0) {
        begin = next_event;
        bytes = q->arrived[q->arrived_first].bytes;
    } else if (q->data.count > 0) {
        begin = q->data.packets[q->data.first].time;
        bytes = q->data.packets[q->data.first].bytes;
    } else {
        return TIME_NEVER;
    }
    uint64_t end = time_add_saturated(begin, rate_duration(params->scratch.rate, bytes));
    return over_link(cube, q, end, params->ipcq.credit_bytes);
}

static uint64_t ipcq_promise(const struct cube *cube, const struct pe *pe, uint64_t next_event)
{
    uint64_t least = TIME_NEVER;
    for (uint32_t queue = QUEUE_CUBE_N; queue < QUEUES; queue++) {
        least = time_min(least, copy_promise(cube, pe, queue, next_event));
        least = time_min(least, drain_promise(cube, pe, queue, next_event));
    }
    return least;
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

static uint64_t stream_done(const struct pe *pe, enum stream stream)
{
    return stream == STREAM_GEMM ? pe->scratch_steps : pe->hbm.own_bytes[stream];
}

/* The least time at which the stream has done `work` more, none of it accepted before `from`. */
static uint64_t stream_end(const struct cube *cube, const struct pe *pe, enum stream stream,
                           uint64_t from, uint64_t work)
{
    uint64_t rest = 0;
    if (stream != STREAM_GEMM)
        return hbm_earliest(cube, pe, from, work);
    return time_add(time_max(from, pe->gemm.whole_ps),
                    server_split(work, cube->cost.rate[stream], &rest));
}

/* The earliest end of the issue of a record's command: the latest of several lower bounds. */
static uint64_t record_time(struct cube *cube, struct pe *pe, const struct emission *record,
                            uint64_t next_event, uint32_t depth)
{
    uint64_t from = cpu_free_at(cube, pe, next_event);
    if (from == TIME_NEVER)
        return TIME_NEVER;
    uint64_t least = time_add(from, record->serial_ps - pe->cpu.serial_ps);
    for (int s = 0; s < STREAMS; s++) {
        uint64_t done = stream_done(pe, (enum stream)s);
        if (record->work[s] > done)
            least = time_max(least, time_add(stream_end(cube, pe, (enum stream)s, next_event,
                                                        record->work[s] - done),
                                             record->after_ps[s]));
    }
    return time_max(least, dependency_time(cube, pe, &record->after, next_event, depth));
}

/* When the message that a receive needs to begin, or the credit that a send needs, is there: 0: it
 * is; TIME_NEVER: it has not been sent, and nothing leaves if nothing more comes. */
static uint64_t packet_time(const struct cube *cube, const struct pe *pe,
                            const struct emission *record)
{
    const struct ipcq_queue *q = &pe->ipcq.queue[record->queue];
    return record->send ? credit_time(cube->params, q, record->fragment)
                        : inbound_time(cube->params, &q->data, record->fragment);
}

/* The earliest arrival elsewhere of what the record's command lets leave, which is issued at
 * `issued` or later; TIME_NEVER: nothing does, if nothing more comes. */
static uint64_t leaving_time(const struct cube *cube, const struct pe *pe,
                             const struct emission *record, uint64_t issued)
{
    uint64_t begin = time_max(issued, packet_time(cube, pe, record));
    return over_link(cube, &pe->ipcq.queue[record->queue],
                     time_add_saturated(begin, record->leave_ps), record->link_bytes);
}

/* The least over the PE's records: one that comes later in the program may arrive first, as a
 * credit flies shorter than a copy. What the scout has not seen is issued after its last record. */
static uint64_t pe_promise(struct cube *cube, struct pe *pe, uint64_t next_event)
{
    uint64_t least = TIME_NEVER, shortest = least_flight(cube->params), issued = 0;
    uint64_t left = pe->emissions - pe->cpu.emitted;
    if (pe->program == NULL || pe->cpu.state == CPU_ENDED)
        return TIME_NEVER;
    for (uint32_t i = 0; i < OUTLOOK_RECORDS && left > 0; i++) {
        const struct emission *record = outlook_at(&pe->outlook, pe->program, i);
        if (record == NULL)
            return least;
        if (!record->leaves && i + 1 < OUTLOOK_RECORDS)
            continue;
        issued = record_time(cube, pe, record, next_event, cube->pes);
        if (record->leaves) {
            least = time_min(least, leaving_time(cube, pe, record, issued));
            left--;
        }
        if (record->leaves && record->blocks && packet_time(cube, pe, record) == TIME_NEVER)
            return least; /* nothing behind it is issued before its message comes */
        if (time_add_saturated(issued, shortest) >= least)
            return least;
    }
    return left == 0 ? least : time_min(least, time_add_saturated(issued, shortest));
}

/* A packet that is passed on. */
static uint64_t passing_promise(const struct cube *cube)
{
    uint64_t least = TIME_NEVER;
    for (uint32_t i = 0; i < cube->passing_count; i++)
        least = time_min(least, cube->passing[i].time);
    return time_add_saturated(least, least_flight(cube->params));
}

uint64_t cube_promise(struct lp *lp, uint64_t next_event)
{
    struct cube *cube = cube_of(lp);
    if (cube->short_sighted)
        return time_add_saturated(next_event, least_flight(cube->params));
    uint64_t least = passing_promise(cube);
    for (uint32_t pe = 0; pe < cube->pes; pe++) {
        least = time_min(least, ipcq_promise(cube, &cube->pe[pe], next_event));
        least = time_min(least, pe_promise(cube, &cube->pe[pe], next_event));
    }
    return least;
}
