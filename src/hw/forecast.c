/* When the CPUs of a CUBE get on with their programs at the earliest, if the CUBE receives nothing
 * more: lower bounds from what is known of the commands in flight and from the scout's records. */
#include "hw/forecast.h"

/* The end of the issue of send `index` of a PE's queue; false: it is over, or nothing is known. */
static bool send_time(struct forecast *forecast, struct pe *pe, uint8_t queue, uint64_t index,
                      uint32_t depth, uint64_t *time)
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
        if (record->send && record->queue == queue && at++ == index)
            break;
    }
    /* A send further ahead than the scout comes later than all that it has seen. */
    if (last != NULL)
        *time = forecast_record(forecast, pe, last, depth);
    return last != NULL;
}

/* The end of the issue of the send whose message is number `index`, from 0, of a queue inside the
 * CUBE; 0: it is over, or nothing is known. */
static uint64_t message_sent(struct forecast *forecast, const struct pe *pe, uint8_t queue,
                             uint64_t index, uint32_t depth)
{
    const struct ipcq_queue *q = &pe->ipcq.queue[queue];
    enum queue_id theirs =
        queue_at(LEVEL_PE, direction_opposite(queue_direction((enum queue_id)queue)));
    uint64_t sent = 0;
    if (depth == 0 || q->received > index || q->peer == NO_PEER)
        return 0;
    struct pe *sender = &forecast->cube->pe[unit_pe(q->peer)];
    return send_time(forecast, sender, (uint8_t)theirs, index, depth - 1, &sent) ? sent : 0;
}

uint64_t credit_time(const struct hw_params *params, const struct ipcq_queue *q, uint64_t number)
{
    return number <= params->ipcq.slots
               ? 0
               : inbound_time(&q->credit_packets, number - params->ipcq.slots);
}

static bool to_another_cube(const struct command *command)
{
    return queue_level((enum queue_id)command->queue) != LEVEL_PE;
}

/* Not before its last credit and the end of the copies before its own, which take their time. */
static uint64_t send_end(const struct forecast *forecast, const struct pe *pe,
                         const struct slot *slot)
{
    const struct hw_params *params = forecast->cube->params;
    const struct command *command = &slot->command;
    const struct ipcq_queue *q = &pe->ipcq.queue[command->queue];
    uint64_t begin = time_max(forecast->now, q->copy_end_ps), bytes = slot->bytes_left;
    bool begun = q->sends.count > 0 && &pe->slots[ring_head(&q->sends)] == slot;
    if (begun && q->copy_end_ps != 0)
        bytes -= q->fragment;
    else if (bytes == operand_bytes(&command->a))
        begin += params->ipcq.copy_ps[queue_level((enum queue_id)command->queue)];
    uint64_t copied = time_add_saturated(begin, rate_duration(params->scratch.rate, bytes));
    return to_another_cube(command) ? time_max(copied, credit_time(params, q, slot->last_fragment))
                                    : copied;
}

/* Not before its last fragment has come, nor before a drain of its queue that is in progress. */
static uint64_t receive_end(struct forecast *forecast, const struct pe *pe, const struct slot *slot,
                            uint32_t depth)
{
    const struct hw_params *params = forecast->cube->params;
    const struct command *command = &slot->command;
    const struct ipcq_queue *q = &pe->ipcq.queue[command->queue];
    if (to_another_cube(command))
        return time_max(inbound_time(&q->data, slot->last_fragment), q->drain_end_ps);
    uint64_t sent = message_sent(forecast, pe, command->queue, slot->message, depth);
    if (sent == 0)
        return q->drain_end_ps;
    return time_add_saturated(sent, inside_passage(params, operand_bytes(&command->out)));
}

/* A command in flight ends not before this. */
static uint64_t end_at(struct forecast *forecast, const struct pe *pe, const struct slot *slot,
                       uint32_t depth)
{
    switch (slot->command.op) {
    case OP_SEND:
        return send_end(forecast, pe, slot);
    case OP_RECV:
    case OP_RECV_ASYNC:
        return receive_end(forecast, pe, slot, depth);
    default:
        return slot->least_end_ps;
    }
}

/* The CPU waits for all of its operands, or for room in a queue: for the first that leaves it. */
static uint64_t stalled_until(struct forecast *forecast, const struct pe *pe, uint32_t depth)
{
    const struct slot *draft = &pe->slots[pe->cpu.draft], *other;
    bool full = pe->cpu.stall == CAUSE_QUEUE;
    uint64_t until = full ? TIME_NEVER : 0;
    for (uint32_t i = 0; i < pe->in_flight_count; i++) {
        other = &pe->slots[pe->in_flight[i]];
        if (full && cpu_queue(&other->command) == cpu_queue(&draft->command))
            until = time_min(until, end_at(forecast, pe, other, depth));
        else if (!full && slot_conflict(draft, other))
            until = time_max(until, end_at(forecast, pe, other, depth));
    }
    return until;
}

static uint64_t find_free(struct forecast *forecast, const struct pe *pe, uint32_t depth)
{
    const struct cpu *cpu = &pe->cpu;
    uint64_t from = time_max(forecast->now, cpu->busy_until_ps);
    if (cpu->state == CPU_BLOCKED)
        return time_max(from, end_at(forecast, pe, &pe->slots[cpu->blocked_on], depth));
    if (cpu->state == CPU_STALLED)
        return time_max(from, stalled_until(forecast, pe, depth));
    return from;
}

/* Found once for each CPU. One that is being found waits in a circle, and is taken to be free. */
static uint64_t free_at(struct forecast *forecast, const struct pe *pe, uint32_t depth)
{
    uint64_t *found = &forecast->free_at[pe - forecast->cube->pe];
    if (*found == FORECAST_UNKNOWN) {
        *found = time_max(forecast->now, pe->cpu.busy_until_ps);
        *found = find_free(forecast, pe, depth);
    }
    return *found;
}

static uint64_t stream_done(const struct pe *pe, enum stream stream)
{
    return stream == STREAM_GEMM ? pe->scratch_cycles : pe->hbm.own_bytes[stream];
}

/* The least time at which the stream has done `work` more. */
static uint64_t stream_end(const struct forecast *forecast, const struct pe *pe, enum stream stream,
                           uint64_t work)
{
    const struct cube *cube = forecast->cube;
    uint64_t rest = 0;
    if (stream != STREAM_GEMM)
        return hbm_earliest(cube, pe, forecast->now, work);
    return time_add(time_max(forecast->now, pe->gemm.whole_ps),
                    server_split(work, cube->cost.rate[stream], &rest));
}

uint64_t forecast_record(struct forecast *forecast, const struct pe *pe,
                         const struct emission *record, uint32_t depth)
{
    uint64_t from = free_at(forecast, pe, depth);
    if (from == TIME_NEVER)
        return TIME_NEVER;
    /* A kernel that is no pure function may be past it; its next command is refused. */
    uint64_t done = pe->cpu.serial_ps;
    uint64_t least = time_add(from, record->serial_ps > done ? record->serial_ps - done : 0);
    for (int s = 0; s < STREAMS; s++) {
        uint64_t accepted = stream_done(pe, (enum stream)s);
        if (record->work[s] <= accepted)
            continue;
        uint64_t end = stream_end(forecast, pe, (enum stream)s, record->work[s] - accepted);
        least = time_max(least, time_add(end, record->after_ps[s]));
    }
    const struct dependency *after = &record->after;
    if (!after->known)
        return least;
    uint64_t sent = message_sent(forecast, pe, after->queue, after->index, depth);
    return sent == 0 ? least : time_max(least, time_add_saturated(sent, after->ps));
}
