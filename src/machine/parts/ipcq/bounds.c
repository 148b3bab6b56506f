/* What promises may know of queues, beside what their copies and drains take. */
#include "machine/machine.h"

uint64_t ipcq_fragments(const struct machine_params *params, const struct command *command)
{
    const struct operand *moved = command->op == OP_SEND ? &command->a : &command->out;
    return pieces_of(operand_bytes(moved), params->ipcq.slot_bytes);
}

uint64_t ipcq_first_fragment(const struct machine_params *params, const struct command *command)
{
    const struct operand *moved = command->op == OP_SEND ? &command->a : &command->out;
    return time_min(operand_bytes(moved), params->ipcq.slot_bytes);
}

struct departure ipcq_copy_least(const struct machine_params *params, const struct pe *pe,
                                 uint32_t queue, uint64_t now, uint64_t credit)
{
    const struct ipcq_queue *q = &pe->ipcq.queue[queue];
    enum queue_level level = queue_level((enum queue_id)queue);
    if (q->copy_end_ps != 0)
        return (struct departure){q->copy_end_ps, q->fragment};
    uint64_t begin = q->credits > 0 ? now : credit, copy_ps = params->ipcq.copy_ps[level];
    if (q->sends.count == 0) /* still on its way from the CPU */
        return (struct departure){time_add_saturated(begin, copy_ps), 1};
    const struct flight *flight = &pe->flights[fifo_head(&q->sends)];
    uint64_t bytes = time_min(flight->bytes_left, params->ipcq.slot_bytes);
    bool first = flight->bytes_left == operand_bytes(&flight->command.a);
    copy_ps = ipcq_copy_ps(params, level, first, bytes);
    return (struct departure){time_add_saturated(begin, copy_ps), bytes};
}

struct departure ipcq_drain_least(const struct machine_params *params, const struct pe *pe,
                                  uint32_t queue, uint64_t now, struct departure coming)
{
    const struct ipcq_queue *q = &pe->ipcq.queue[queue];
    if (q->drain_end_ps != 0)
        return (struct departure){q->drain_end_ps, params->ipcq.credit_bytes};
    if (q->arrived_count > 0)
        coming = (struct departure){now, q->arrived[q->arrived_first].bytes};
    if (coming.time == TIME_NEVER)
        return coming;
    uint64_t end = time_add_saturated(coming.time, scratch_move_ps(params, coming.bytes));
    return (struct departure){end, params->ipcq.credit_bytes};
}

/* Not before the end of the copy in progress and what its own still take. */
uint64_t ipcq_send_least_end(const struct machine_params *params, const struct pe *pe,
                             const struct flight *flight, uint64_t now)
{
    const struct command *command = &flight->command;
    const struct ipcq_queue *q = &pe->ipcq.queue[command->queue];
    uint64_t begin = time_max(now, q->copy_end_ps), bytes = flight->bytes_left;
    bool head = q->sends.count > 0 && &pe->flights[fifo_head(&q->sends)] == flight;
    bool copying = head && q->copy_end_ps != 0;
    bool first = !copying && bytes == operand_bytes(&command->a);
    if (copying)
        bytes -= q->fragment;
    enum queue_level level = queue_level((enum queue_id)command->queue);
    return time_add_saturated(begin, ipcq_copy_ps(params, level, first, bytes));
}

uint64_t ipcq_drain_end(const struct pe *pe, uint32_t queue)
{
    return pe->ipcq.queue[queue].drain_end_ps;
}

uint64_t ipcq_passage_least(const struct machine_params *params, uint64_t bytes)
{
    uint64_t last = bytes % params->ipcq.slot_bytes;
    if (last == 0 && bytes > 0)
        last = params->ipcq.slot_bytes;
    return params->ipcq.copy_ps[LEVEL_PE] + server_least(params->scratch.rate, bytes) +
           network_least_hop(params, last) + server_least(params->scratch.rate, last);
}

uint32_t ipcq_link(const struct pe *pe, uint32_t queue)
{
    return pe->ipcq.queue[queue].link;
}

bool ipcq_passes(const struct pe *pe, uint32_t queue)
{
    return pe->ipcq.queue[queue].passes;
}

uint64_t ipcq_received(const struct pe *pe, uint32_t queue)
{
    return pe->ipcq.queue[queue].received;
}

bool ipcq_has_peer(const struct pe *pe, uint32_t queue)
{
    return pe->ipcq.queue[queue].peer != NO_PEER;
}

uint32_t ipcq_peer_pe(const struct pe *pe, uint32_t queue)
{
    return unit_pe(pe->ipcq.queue[queue].peer);
}
