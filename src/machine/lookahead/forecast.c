/* When the CPUs of a CUBE get on with their programs at the earliest, if the CUBE receives nothing
 * more: lower bounds from what is known of the commands in flight and from the scout's emissions.
 */
#include "machine/lookahead/forecast.h"

/* The end of the issue of send `index` of a PE's queue; false: it is over, or nothing is known. */
static bool send_time(struct forecast *forecast, uint32_t number, uint32_t queue, uint64_t index,
                      uint32_t depth, uint64_t *time)
{
    const struct pe *pe = cube_pe(forecast->cube, number);
    struct outlook *outlook = &forecast->lookahead->pe[number].outlook;
    const struct emission *last = NULL, *emission;
    uint64_t at = cpu_sent(pe, queue);
    if (pe_program(pe) == NULL || at > index)
        return false;
    for (uint32_t i = 0; i < OUTLOOK_EMISSIONS; i++) {
        emission = outlook_at(outlook, pe_program(pe), i);
        if (emission == NULL)
            break;
        last = emission;
        if (emission->send && emission->queue == queue && at++ == index)
            break;
    }
    /* A send further ahead than the scout comes later than all that it has seen. */
    if (last != NULL)
        *time = forecast_emission(forecast, number, last, depth);
    return last != NULL;
}

/* The end of the issue of the send whose message is number `index`, from 0, of a queue inside the
 * CUBE; 0: it is over, or nothing is known. */
static uint64_t message_sent(struct forecast *forecast, const struct pe *pe, uint32_t queue,
                             uint64_t index, uint32_t depth)
{
    uint64_t sent = 0;
    if (depth == 0 || ipcq_received(pe, queue) > index || !ipcq_has_peer(pe, queue))
        return 0;
    uint32_t theirs = queue_opposite((enum queue_id)queue);
    return send_time(forecast, ipcq_peer_pe(pe, queue), theirs, index, depth - 1, &sent) ? sent : 0;
}

uint64_t forecast_credit(const struct lookahead *lookahead, uint32_t pe, uint32_t queue,
                         uint64_t number)
{
    uint64_t slots = lookahead->params->ipcq.slots;
    return number <= slots ? 0 : inbound_time(&lookahead->pe[pe].credits[queue], number - slots);
}

/* What the bounds of a CPU's commands in flight are asked with. */
struct asking {
    struct forecast *forecast;
    uint32_t pe, depth;
};

static bool to_another_cube(const struct command *command)
{
    return queue_level((enum queue_id)command->queue) != LEVEL_PE;
}

/* Not before its last credit and the end of the copies before its own, which take their time. */
static uint64_t send_end(const struct asking *asking, const struct pe *pe,
                         const struct flight *flight)
{
    const struct lookahead *lookahead = asking->forecast->lookahead;
    const struct command *command = flight_command(flight);
    uint64_t copied = ipcq_send_least_end(lookahead->params, pe, flight, asking->forecast->now);
    if (!to_another_cube(command))
        return copied;
    return time_max(copied, forecast_credit(lookahead, asking->pe, command->queue,
                                            flight_last_fragment(flight)));
}

/* Not before its last fragment has come, nor before a drain of its queue that is in progress. */
static uint64_t receive_end(const struct asking *asking, const struct pe *pe,
                            const struct flight *flight)
{
    const struct lookahead *lookahead = asking->forecast->lookahead;
    const struct command *command = flight_command(flight);
    uint32_t queue = command->queue;
    if (to_another_cube(command))
        return time_max(
            inbound_time(&lookahead->pe[asking->pe].data[queue], flight_last_fragment(flight)),
            ipcq_drain_end(pe, queue));
    uint64_t sent =
        message_sent(asking->forecast, pe, queue, flight_message(flight), asking->depth);
    if (sent == 0)
        return ipcq_drain_end(pe, queue);
    return time_add_saturated(sent,
                              ipcq_passage_least(lookahead->params, operand_bytes(&command->out)));
}

/* A command in flight ends not before this. */
static uint64_t end_at(void *context, const struct pe *pe, const struct flight *flight)
{
    switch (flight_command(flight)->op) {
    case OP_SEND:
        return send_end(context, pe, flight);
    case OP_RECV:
    case OP_RECV_ASYNC:
        return receive_end(context, pe, flight);
    default:
        return flight_least_end(flight);
    }
}

/* Found once for each CPU. One that is being found waits in a circle, and is taken to be free. */
static uint64_t free_at(struct forecast *forecast, uint32_t number, uint32_t depth)
{
    uint64_t *found = &forecast->free_at[number];
    if (*found == FORECAST_UNKNOWN) {
        const struct pe *pe = cube_pe(forecast->cube, number);
        struct asking asking = {forecast, number, depth};
        *found = cpu_least_busy(pe, forecast->now);
        *found = cpu_least_free(pe, forecast->now, end_at, &asking);
    }
    return *found;
}

static uint64_t stream_done(const struct pe *pe, enum stream stream)
{
    return stream == STREAM_GEMM
               ? gemm_scratch_cycles(pe)
               : hbm_accepted(pe, stream == STREAM_FETCH ? HBM_FETCHES : HBM_TRANSFERS);
}

/* The least time at which the stream has done `work` more. */
static uint64_t stream_end(const struct forecast *forecast, const struct pe *pe, enum stream stream,
                           uint64_t work)
{
    return stream == STREAM_GEMM ? gemm_least(forecast->cube, pe, forecast->now, work)
                                 : hbm_least(forecast->cube, pe, forecast->now, work);
}

uint64_t forecast_emission(struct forecast *forecast, uint32_t number,
                           const struct emission *emission, uint32_t depth)
{
    const struct pe *pe = cube_pe(forecast->cube, number);
    uint64_t from = free_at(forecast, number, depth);
    if (from == TIME_NEVER)
        return TIME_NEVER;
    /* A kernel that is no pure function (docs/adr/0002) may have issued more than the scout saw.
     * Its next command ends the run with an error; until then the difference must not wrap. */
    uint64_t done = cpu_serial_done(pe);
    uint64_t least = time_add(from, emission->serial_ps > done ? emission->serial_ps - done : 0);
    for (int s = 0; s < STREAMS; s++) {
        uint64_t accepted = stream_done(pe, (enum stream)s);
        if (emission->work[s] <= accepted)
            continue;
        uint64_t end = stream_end(forecast, pe, (enum stream)s, emission->work[s] - accepted);
        least = time_max(least, time_add(end, emission->after_ps[s]));
    }
    const struct dependency *after = &emission->after;
    if (!after->known)
        return least;
    uint64_t sent = message_sent(forecast, pe, after->queue, after->index, depth);
    return sent == 0 ? least : time_max(least, time_add_saturated(sent, after->ps));
}
