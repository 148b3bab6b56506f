/* Inter-PE queues. Each queue pair has its own FIFOs and blocks only itself: a send is cut into
 * fragments of at most a slot, each of which needs a credit; a recv drains slots in order into
 * scratch and returns their credits. */
#include "hw/machine.h"

static struct ipcq_queue *queue_of(struct pe *pe, uint32_t queue)
{
    return &pe->ipcq.queue[queue];
}

static void start_copy(struct lp *lp, const struct event *event, struct pe *pe, uint32_t queue)
{
    const struct hw_params *params = cube_of(lp)->params;
    struct ipcq_queue *q = queue_of(pe, queue);
    if (q->copy_end_ps != 0 || q->sends.count == 0 || q->credits == 0)
        return;
    struct slot *slot = &pe->slots[ring_head(&q->sends)];
    uint64_t total = operand_bytes(&slot->command.a);
    bool first = slot->bytes_left == total;
    uint64_t duration = first ? params->ipcq.copy_ps[queue_level((enum queue_id)queue)] : 0;
    if (first) {
        slot->start_ps = lp->now;
        if (event->kind == MSG_IPCQ_PACKET) /* a credit set it free */
            slot->cause = q->credit;
    }
    q->credits--;
    q->fragment =
        slot->bytes_left < params->ipcq.slot_bytes ? slot->bytes_left : params->ipcq.slot_bytes;
    duration += rate_duration(params->scratch.rate, q->fragment);
    q->copy_end_ps = time_add(lp->now, duration);
    activity_begin(&pe->ipcq.activity, lp->now);
    send_part(lp, event, PART_IPCQ, MSG_IPCQ_COPIED, q->copy_end_ps)->arg[0] = queue;
}

void ipcq_send(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    uint16_t index = (uint16_t)event->arg[0];
    struct slot *slot = &pe->slots[index];
    uint32_t queue = slot->command.queue;
    pe->result.sent_bytes += slot->bytes_left;
    ring_push(&queue_of(pe, queue)->sends, index);
    start_copy(lp, event, pe, queue);
}

/* With values a packet carries the bytes that its fragment has now. */
static void attach_values(struct lp *lp, const struct event *event, const struct slot *slot,
                          uint64_t bytes, struct event *packet)
{
    struct value_engine *values = cube_of(lp)->values;
    const struct operand *a = &slot->command.a;
    if (values == NULL)
        return;
    void *data = lp_attach(lp, packet, (uint32_t)bytes);
    values->ops->take(values, unit_pe(event->dst), a->addr + operand_bytes(a) - slot->bytes_left,
                      data, (uint32_t)bytes);
}

static void store_values(struct lp *lp, const struct event *event, const struct slot *slot,
                         uint16_t payload)
{
    struct value_engine *values = cube_of(lp)->values;
    const struct operand *out = &slot->command.out;
    uint32_t bytes;
    const void *data = lp_payload(lp, payload, &bytes);
    if (values != NULL && data != NULL)
        values->ops->put(values, unit_pe(event->dst),
                         out->addr + operand_bytes(out) - slot->bytes_left, data, bytes);
    lp_drop(lp, payload);
}

/* The copy of a fragment has left scratch: it goes to the network, the next one may start. */
void ipcq_copied(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    uint32_t queue = (uint32_t)event->arg[0];
    struct ipcq_queue *q = queue_of(pe, queue);
    uint16_t index = ring_head(&q->sends);
    struct slot *slot = &pe->slots[index];
    const struct operand *a = &slot->command.a;
    bool first = slot->bytes_left == operand_bytes(a);
    enum queue_id theirs = queue_at(queue_level((enum queue_id)queue),
                                    direction_opposite(queue_direction((enum queue_id)queue)));
    struct event *packet =
        packet_send(lp, event->dst, q->peer, PACKET_DATA, theirs, q->fragment, lp->now);
    packet->arg[2] = slot->number;
    packet->arg[3] = (uint64_t)a->rows << 32 | a->cols;
    packet->arg[4] = (uint64_t)a->dtype << 1 | first;
    attach_values(lp, event, slot, q->fragment, packet);
    activity_end(&pe->ipcq.activity, lp->now);
    slot->bytes_left -= q->fragment;
    q->copy_end_ps = 0;
    if (slot->bytes_left == 0) {
        ring_pop(&q->sends);
        send_part(lp, event, PART_CPU, MSG_CPU_DONE, lp->now)->arg[0] = index;
    }
    start_copy(lp, event, pe, queue);
}

static bool matches(struct lp *lp, const struct pe *pe, const struct slot *slot,
                    const struct arrived *message)
{
    const struct operand *out = &slot->command.out;
    uint64_t shape = (uint64_t)out->rows << 32 | out->cols;
    if (message->shape == shape && message->dtype == out->dtype)
        return true;
    return error_set(
        &lp->error, ERROR_FAILED,
        "kernel %s, CUBE %u PE %u, command %llu (%s:%u): recv from %s expects [%u, %u] "
        "%s, but command %llu of CUBE %u PE %u sent [%u, %u] %s",
        pe->program->kernel, lp->id, unit_pe(lp->current.dst), (unsigned long long)slot->number,
        slot->command.file, slot->command.line, queue_name((enum queue_id)slot->command.queue),
        out->rows, out->cols, dtype_name((enum dtype)out->dtype),
        (unsigned long long)message->command, unit_cube(message->origin), unit_pe(message->origin),
        (uint32_t)(message->shape >> 32), (uint32_t)message->shape,
        dtype_name((enum dtype)message->dtype));
}

static void start_drain(struct lp *lp, const struct event *event, struct pe *pe, uint32_t queue)
{
    const struct hw_params *params = cube_of(lp)->params;
    struct ipcq_queue *q = queue_of(pe, queue);
    if (q->drain_end_ps != 0 || q->recvs.count == 0 || q->arrived_count == 0)
        return;
    struct slot *slot = &pe->slots[ring_head(&q->recvs)];
    const struct arrived *message = &q->arrived[q->arrived_first];
    bool first = slot->bytes_left == operand_bytes(&slot->command.out);
    if (first && !matches(lp, pe, slot, message))
        return;
    if (first) {
        slot->start_ps = lp->now;
        if (event->kind == MSG_IPCQ_PACKET) /* it waited for the message */
            slot->cause = (struct cause){message->command, unit_cube(message->origin),
                                         (uint16_t)unit_pe(message->origin), CAUSE_MESSAGE};
    }
    q->drain_end_ps = time_add(lp->now, rate_duration(params->scratch.rate, message->bytes));
    activity_begin(&pe->ipcq.activity, lp->now);
    send_part(lp, event, PART_IPCQ, MSG_IPCQ_DRAINED, q->drain_end_ps)->arg[0] = queue;
}

void ipcq_recv(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    uint16_t index = (uint16_t)event->arg[0];
    struct slot *slot = &pe->slots[index];
    ring_push(&queue_of(pe, slot->command.queue)->recvs, index);
    start_drain(lp, event, pe, slot->command.queue);
}

void ipcq_drained(struct lp *lp, const struct event *event)
{
    const struct hw_params *params = cube_of(lp)->params;
    struct pe *pe = pe_of(lp, event);
    uint32_t queue = (uint32_t)event->arg[0];
    struct ipcq_queue *q = queue_of(pe, queue);
    uint16_t index = ring_head(&q->recvs);
    struct slot *slot = &pe->slots[index];
    const struct arrived message = q->arrived[q->arrived_first];
    q->arrived_first = (q->arrived_first + 1) % q->arrived_room;
    q->arrived_count--;
    q->drain_end_ps = 0;
    activity_end(&pe->ipcq.activity, lp->now);
    enum queue_id theirs = queue_at(queue_level((enum queue_id)queue),
                                    direction_opposite(queue_direction((enum queue_id)queue)));
    struct event *credit = packet_send(lp, event->dst, q->peer, PACKET_CREDIT, theirs,
                                       params->ipcq.credit_bytes, lp->now);
    credit->arg[2] = slot->number;
    store_values(lp, event, slot, message.payload);
    pe->result.received_bytes += message.bytes;
    pe->result.fragments++;
    slot->bytes_left -= message.bytes;
    if (slot->bytes_left == 0) {
        ring_pop(&q->recvs);
        q->received++;
        send_part(lp, event, PART_CPU, MSG_CPU_DONE, lp->now)->arg[0] = index;
    }
    start_drain(lp, event, pe, queue);
}

static void make_room(const struct hw_params *params, const struct event *event,
                      struct ipcq_queue *q)
{
    if (q->arrived_count == params->ipcq.slots)
        error_bug("unit %u received more messages than it has slots", event->dst);
    q->arrived = grown_ring(q->arrived, sizeof *q->arrived, q->arrived_first, &q->arrived_room,
                            params->ipcq.slots);
    q->arrived_first = 0;
}

static void message_arrives(struct lp *lp, const struct event *event, struct pe *pe)
{
    struct ipcq_queue *q = queue_of(pe, packet_queue(event));
    if (q->arrived_count == q->arrived_room)
        make_room(cube_of(lp)->params, event, q);
    uint32_t at = (q->arrived_first + q->arrived_count++) % q->arrived_room;
    q->arrived[at] = (struct arrived){
        .command = event->arg[2],
        .shape = event->arg[3],
        .origin = packet_origin(event),
        .bytes = (uint32_t)packet_bytes(event),
        .payload = event->payload,
        .dtype = (uint8_t)(event->arg[4] >> 1),
    };
    pe->result.slots_high_water = time_max(pe->result.slots_high_water, q->arrived_count);
    start_drain(lp, event, pe, packet_queue(event));
}

static void credit_arrives(struct lp *lp, const struct event *event, struct pe *pe)
{
    struct ipcq_queue *q = queue_of(pe, packet_queue(event));
    q->credits++;
    q->credit = (struct cause){event->arg[2], unit_cube(packet_origin(event)),
                               (uint16_t)unit_pe(packet_origin(event)), CAUSE_CREDIT};
    start_copy(lp, event, pe, packet_queue(event));
}

void ipcq_packet(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    if (packet_kind(event) == PACKET_DATA)
        message_arrives(lp, event, pe);
    else
        credit_arrives(lp, event, pe);
}
