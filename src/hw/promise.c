/* The CUBE's promise (docs/adr/0003): a time before which nothing that it sends can arrive
 * elsewhere if it receives nothing more. Sums of least durations only: contention is never
 * estimated. */
#include "hw/forecast.h"

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
    if (pe->cpu.accepted[CPU_QUEUE_SENDS + queue] == 0)
        return TIME_NEVER;
    if (q->copy_end_ps != 0)
        return over_link(cube, q, q->copy_end_ps, q->fragment);
    uint64_t copy_ps = params->ipcq.copy_ps[queue_level((enum queue_id)queue)], bytes = 1;
    uint64_t begin =
        q->credits > 0 ? next_event : inbound_time(&q->credit_packets, q->credit_packets.came + 1);
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
    if (pe->cpu.accepted[CPU_QUEUE_RECVS + queue] == 0)
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

/* When the message that a receive needs to begin, or the credit that a send needs, is there: 0: it
 * is; TIME_NEVER: it has not been sent, and nothing leaves if nothing more comes. */
static uint64_t packet_time(const struct cube *cube, const struct pe *pe,
                            const struct emission *record)
{
    const struct ipcq_queue *q = &pe->ipcq.queue[record->queue];
    return record->send ? credit_time(cube->params, q, record->fragment)
                        : inbound_time(&q->data, record->fragment);
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
static uint64_t pe_promise(struct forecast *forecast, struct pe *pe)
{
    const struct cube *cube = forecast->cube;
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
        issued = forecast_record(forecast, pe, record, cube->pes);
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
    struct forecast forecast = {.cube = cube, .now = next_event};
    for (uint32_t pe = 0; pe < cube->pes; pe++)
        forecast.free_at[pe] = FORECAST_UNKNOWN;
    for (uint32_t pe = 0; pe < cube->pes; pe++) {
        least = time_min(least, ipcq_promise(cube, &cube->pe[pe], next_event));
        least = time_min(least, pe_promise(&forecast, &cube->pe[pe]));
    }
    return least;
}
