/* The CUBE's promise (docs/adr/0003): a time before which nothing that it sends can arrive
 * elsewhere if it receives nothing more. Sums of least durations only: contention is never
 * estimated. */
#include "machine/fifo.h"
#include "machine/lookahead/forecast.h"
#include "machine/part.h"
#include "support/memory.h"

uint64_t lookahead_reaction(const struct lp *lp, uint32_t to)
{
    (void)to; /* all CUBEs are alike */
    return network_least_flight(cube_params(lp->state));
}

/* The earliest arrival elsewhere of a packet that leaves through a queue. */
static uint64_t arrival(const struct cube *cube, const struct pe *pe, uint32_t queue,
                        struct departure departure)
{
    if (departure.time == TIME_NEVER)
        return TIME_NEVER;
    return network_least(cube, ipcq_link(pe, queue), departure.time, departure.bytes,
                         ipcq_passes(pe, queue));
}

/* The next packet of sends that the CPU has issued: of the copy in progress, or of one that begins
 * when its send reaches the IPCQ or its credit comes. */
static uint64_t copy_promise(const struct forecast *forecast, uint32_t number, uint32_t queue)
{
    const struct lookahead *lookahead = forecast->lookahead;
    const struct pe *pe = cube_pe(forecast->cube, number);
    if (cpu_accepted(pe, CPU_QUEUE_SENDS + queue) == 0)
        return TIME_NEVER;
    const struct inbound *credits = &lookahead->pe[number].credits[queue];
    uint64_t credit = inbound_time(credits, credits->came + 1);
    return arrival(forecast->cube, pe, queue,
                   ipcq_copy_least(lookahead->params, pe, queue, forecast->now, credit));
}

/* The next credit of receives that the CPU has issued. */
static uint64_t drain_promise(const struct forecast *forecast, uint32_t number, uint32_t queue)
{
    const struct lookahead *lookahead = forecast->lookahead;
    const struct pe *pe = cube_pe(forecast->cube, number);
    const struct inbound *data = &lookahead->pe[number].data[queue];
    struct departure coming = {TIME_NEVER, 0};
    if (cpu_accepted(pe, CPU_QUEUE_RECVS + queue) == 0)
        return TIME_NEVER;
    if (data->count > 0)
        coming =
            (struct departure){data->packets[data->first].time, data->packets[data->first].bytes};
    return arrival(forecast->cube, pe, queue,
                   ipcq_drain_least(lookahead->params, pe, queue, forecast->now, coming));
}

static uint64_t ipcq_promise(const struct forecast *forecast, uint32_t pe)
{
    uint64_t least = TIME_NEVER;
    for (uint32_t queue = QUEUE_CUBE_N; queue < QUEUES; queue++) {
        least = time_min(least, copy_promise(forecast, pe, queue));
        least = time_min(least, drain_promise(forecast, pe, queue));
    }
    return least;
}

/* When the message that a receive needs to begin, or the credit that a send needs, is there: 0: it
 * is; TIME_NEVER: it has not been sent, and nothing leaves if nothing more comes. */
static uint64_t packet_time(const struct lookahead *lookahead, uint32_t pe,
                            const struct emission *emission)
{
    return emission->send
               ? forecast_credit(lookahead, pe, emission->queue, emission->fragment)
               : inbound_time(&lookahead->pe[pe].data[emission->queue], emission->fragment);
}

/* The earliest arrival elsewhere of what the emission's command lets leave, which is issued at
 * `issued` or later; TIME_NEVER: nothing does, if nothing more comes. */
static uint64_t leaving_time(const struct forecast *forecast, uint32_t pe,
                             const struct emission *emission, uint64_t issued)
{
    uint64_t begin = time_max(issued, packet_time(forecast->lookahead, pe, emission));
    const struct pe *sender = cube_pe(forecast->cube, pe);
    return network_least(forecast->cube, ipcq_link(sender, emission->queue),
                         time_add_saturated(begin, emission->leave_ps), emission->link_bytes,
                         ipcq_passes(sender, emission->queue));
}

/* The least over the PE's emissions: one that comes later in the program may arrive first, as a
 * credit flies shorter than a copy. What the scout has not seen is issued after its last emission.
 */
static uint64_t pe_promise(struct forecast *forecast, uint32_t number)
{
    const struct pe *pe = cube_pe(forecast->cube, number);
    struct outlook *outlook = &forecast->lookahead->pe[number].outlook;
    uint64_t least = TIME_NEVER, issued = 0;
    uint64_t shortest = network_least_flight(forecast->lookahead->params);
    uint64_t left = pe_emissions(pe) - cpu_emitted(pe);
    if (cpu_ended(pe))
        return TIME_NEVER;
    for (uint32_t i = 0; i < OUTLOOK_EMISSIONS && left > 0; i++) {
        const struct emission *emission = outlook_at(outlook, pe_program(pe), i);
        if (emission == NULL)
            return least;
        if (!emission->leaves && i + 1 < OUTLOOK_EMISSIONS)
            continue;
        issued = forecast_emission(forecast, number, emission, forecast->lookahead->pes);
        if (emission->leaves) {
            least = time_min(least, leaving_time(forecast, number, emission, issued));
            left--;
        }
        if (emission->leaves && emission->blocks &&
            packet_time(forecast->lookahead, number, emission) == TIME_NEVER)
            return least; /* nothing behind it is issued before its message comes */
        if (time_add_saturated(issued, shortest) >= least)
            return least;
    }
    return left == 0 ? least : time_min(least, time_add_saturated(issued, shortest));
}

/* A packet that is passed on. */
static uint64_t passing_promise(const struct lookahead *lookahead)
{
    uint64_t least = TIME_NEVER;
    for (uint32_t i = 0; i < lookahead->passing.count; i++)
        least = time_min(least, lookahead->passing.packets[i].time);
    return time_add_saturated(least, network_least_flight(lookahead->params));
}

uint64_t lookahead_promise(struct lp *lp, uint64_t next_event)
{
    struct cube *cube = lp->state;
    struct lookahead *lookahead = cube_lookahead(cube);
    if (lookahead->kind == LOOKAHEAD_LINK)
        return time_add_saturated(next_event, network_least_flight(lookahead->params));
    uint64_t least = passing_promise(lookahead);
    struct forecast forecast = {.cube = cube, .lookahead = lookahead, .now = next_event};
    for (uint32_t pe = 0; pe < lookahead->pes; pe++)
        forecast.free_at[pe] = FORECAST_UNKNOWN;
    for (uint32_t pe = 0; pe < lookahead->pes; pe++) {
        least = time_min(least, ipcq_promise(&forecast, pe));
        least = time_min(least, pe_promise(&forecast, pe));
    }
    return least;
}

struct lookahead *lookahead_new(const struct machine_params *params)
{
    struct lookahead *lookahead = memory_new(1, sizeof *lookahead);
    lookahead->params = params;
    lookahead->cost = cost_of(params);
    lookahead->pes = grid_size(params->geometry.pes);
    lookahead->pe = memory_new(lookahead->pes, sizeof *lookahead->pe);
    for (uint32_t pe = 0; pe < lookahead->pes; pe++)
        outlook_init(&lookahead->pe[pe].outlook, &lookahead->cost, pe);
    return lookahead;
}

uint64_t lookahead_memory(const struct machine_params *params)
{
    uint64_t pes = grid_size(params->geometry.pes);
    return part_block(1, sizeof(struct lookahead)) + part_block(pes, sizeof(struct pe_lookahead)) +
           pes * QUEUES * 2 * part_block(RING_START, sizeof(struct inbound_packet));
}

void lookahead_free(struct lookahead *lookahead)
{
    for (uint32_t pe = 0; pe < lookahead->pes; pe++)
        for (uint32_t i = 0; i < QUEUES; i++) {
            memory_free(lookahead->pe[pe].data[i].packets);
            memory_free(lookahead->pe[pe].credits[i].packets);
        }
    memory_free(lookahead->pe);
    memory_free(lookahead->passing.packets);
    memory_free(lookahead);
}

void lookahead_choose(struct lookahead *lookahead, enum lookahead_kind kind)
{
    lookahead->kind = kind;
}

bool lookahead_issued(struct lookahead *lookahead, uint32_t pe, struct program *program,
                      const struct command *command, uint64_t serial_ps)
{
    return !outlook_emits(command) ||
           outlook_pop(&lookahead->pe[pe].outlook, program, command, serial_ps);
}
