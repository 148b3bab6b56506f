#include "machine/machine.h"
#include "machine/parts/network/route.h"
#include "support/memory.h"

static struct ipcq_queue *queue_of(struct pe *pe, uint32_t queue)
{
    return &pe->ipcq.queue[queue];
}

uint64_t ipcq_copy_ps(const struct machine_params *params, enum queue_level level, bool first,
                      uint64_t bytes)
{
    return (first ? params->ipcq.copy_ps[level] : 0) + scratch_move_ps(params, bytes);
}

/* ---- sending ---- */

static bool is_begun(const struct flight *flight)
{
    const struct command *command = &flight->command;
    const struct operand *moved = command->op == OP_SEND ? &command->a : &command->out;
    return flight->bytes_left != operand_bytes(moved);
}

static void start_copy(struct lp *lp, const struct event *event, struct pe *pe, uint32_t queue)
{
    const struct machine_params *params = cube_of(lp)->params;
    struct ipcq_queue *q = queue_of(pe, queue);
    if (q->copy_end_ps != 0 || q->sends.count == 0 || q->credits == 0)
        return;
    struct flight *flight = &pe->flights[fifo_head(&q->sends)];
    bool first = !is_begun(flight);
    if (first) {
        flight->start_ps = lp->now;
        if (event->kind == MSG_IPCQ_PACKET) /* a credit set it free */
            flight->cause = q->credit;
    }
    q->credits--;
    q->fragment = time_min(flight->bytes_left, params->ipcq.slot_bytes);
    q->copy_end_ps = time_add(
        lp->now, ipcq_copy_ps(params, queue_level((enum queue_id)queue), first, q->fragment));
    activity_begin(&pe->ipcq.activity, lp->now);
    ipcq_copied_post(lp, event, q->copy_end_ps, (struct queue_message){queue});
}

void ipcq_send(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    uint16_t index = ipcq_send_body(event)->flight;
    struct flight *flight = &pe->flights[index];
    uint32_t queue = flight->command.queue;
    pe->ipcq.stats.sent_bytes += flight->bytes_left;
    fifo_push(&queue_of(pe, queue)->sends, index);
    start_copy(lp, event, pe, queue);
}

/* With values a packet carries the bytes that its fragment has now. */
static void attach_values(struct lp *lp, const struct event *event, const struct flight *flight,
                          uint64_t bytes, struct event *packet)
{
    struct value_engine *values = cube_of(lp)->values;
    const struct operand *a = &flight->command.a;
    if (values == NULL)
        return;
    void *data = lp_attach(lp, packet, (uint32_t)bytes);
    values->ops->take(values, unit_pe(event->dst), a->addr + operand_bytes(a) - flight->bytes_left,
                      data, (uint32_t)bytes);
}

/* The copy of a fragment has left scratch: it goes to the network, the next one may start. */
void ipcq_copied(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    uint32_t queue = ipcq_copied_body(event)->queue;
    struct ipcq_queue *q = queue_of(pe, queue);
    uint16_t index = fifo_head(&q->sends);
    struct flight *flight = &pe->flights[index];
    const struct operand *a = &flight->command.a;
    struct event *packet = network_send(lp, event->dst, lp->now,
                                        (struct packet){
                                            .destination = q->peer,
                                            .bytes = (uint32_t)q->fragment,
                                            .queue = (uint8_t)queue_opposite((enum queue_id)queue),
                                            .kind = PACKET_DATA,
                                            .of.data = {flight->number, a->rows, a->cols, a->dtype},
                                        });
    attach_values(lp, event, flight, q->fragment, packet);
    activity_end(&pe->ipcq.activity, lp->now);
    flight->bytes_left -= q->fragment;
    q->copy_end_ps = 0;
    if (flight->bytes_left == 0) {
        fifo_pop(&q->sends);
        cpu_done_post(lp, event, lp->now, (struct flight_message){index});
    }
    start_copy(lp, event, pe, queue);
}

/* ---- receiving ---- */

static bool matches(struct lp *lp, const struct pe *pe, const struct flight *flight,
                    const struct arrived *message)
{
    const struct operand *out = &flight->command.out;
    if (message->rows == out->rows && message->cols == out->cols && message->dtype == out->dtype)
        return true;
    return error_set(
        &lp->error, ERROR_FAILED,
        "kernel %s, CUBE %u PE %u, command %llu (%s:%u): recv from %s expects [%u, %u] "
        "%s, but command %llu of CUBE %u PE %u sent [%u, %u] %s",
        pe->program->kernel, lp->id, unit_pe(lp->current.dst), (unsigned long long)flight->number,
        flight->command.file, flight->command.line,
        queue_name((enum queue_id)flight->command.queue), out->rows, out->cols,
        dtype_name((enum dtype)out->dtype), (unsigned long long)message->command,
        unit_cube(message->origin), unit_pe(message->origin), message->rows, message->cols,
        dtype_name((enum dtype)message->dtype));
}

static void start_drain(struct lp *lp, const struct event *event, struct pe *pe, uint32_t queue)
{
    const struct machine_params *params = cube_of(lp)->params;
    struct ipcq_queue *q = queue_of(pe, queue);
    if (q->drain_end_ps != 0 || q->recvs.count == 0 || q->arrived_count == 0)
        return;
    struct flight *flight = &pe->flights[fifo_head(&q->recvs)];
    const struct arrived *message = &q->arrived[q->arrived_first];
    bool first = !is_begun(flight);
    if (first && !matches(lp, pe, flight, message))
        return;
    if (first) {
        flight->start_ps = lp->now;
        if (event->kind == MSG_IPCQ_PACKET) /* it waited for the message */
            flight->cause = (struct cause){message->command, unit_cube(message->origin),
                                           (uint16_t)unit_pe(message->origin), CAUSE_MESSAGE};
    }
    q->drain_end_ps = time_add(lp->now, scratch_move_ps(params, message->bytes));
    activity_begin(&pe->ipcq.activity, lp->now);
    ipcq_drained_post(lp, event, q->drain_end_ps, (struct queue_message){queue});
}

void ipcq_recv(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    uint16_t index = ipcq_recv_body(event)->flight;
    uint32_t queue = pe->flights[index].command.queue;
    fifo_push(&queue_of(pe, queue)->recvs, index);
    start_drain(lp, event, pe, queue);
}

static void store_values(struct lp *lp, const struct event *event, const struct flight *flight,
                         uint16_t payload)
{
    struct value_engine *values = cube_of(lp)->values;
    const struct operand *out = &flight->command.out;
    uint32_t bytes;
    const void *data = lp_payload(lp, payload, &bytes);
    if (values != NULL && data != NULL)
        values->ops->put(values, unit_pe(event->dst),
                         out->addr + operand_bytes(out) - flight->bytes_left, data, bytes);
    lp_drop(lp, payload);
}

static void return_credit(struct lp *lp, const struct event *event, const struct ipcq_queue *q,
                          uint32_t queue, uint64_t command)
{
    network_send(lp, event->dst, lp->now,
                 (struct packet){
                     .destination = q->peer,
                     .bytes = (uint32_t)cube_of(lp)->params->ipcq.credit_bytes,
                     .queue = (uint8_t)queue_opposite((enum queue_id)queue),
                     .kind = PACKET_CREDIT,
                     .of.data.command = command,
                 });
}

/* A slot has been emptied into scratch. */
void ipcq_drained(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    uint32_t queue = ipcq_drained_body(event)->queue;
    struct ipcq_queue *q = queue_of(pe, queue);
    uint16_t index = fifo_head(&q->recvs);
    struct flight *flight = &pe->flights[index];
    const struct arrived message = q->arrived[q->arrived_first];
    q->arrived_first = (q->arrived_first + 1) % q->arrived_room;
    q->arrived_count--;
    q->drain_end_ps = 0;
    activity_end(&pe->ipcq.activity, lp->now);
    return_credit(lp, event, q, queue, flight->number);
    store_values(lp, event, flight, message.payload);
    pe->ipcq.stats.received_bytes += message.bytes;
    pe->ipcq.stats.fragments++;
    flight->bytes_left -= message.bytes;
    if (flight->bytes_left == 0) {
        fifo_pop(&q->recvs);
        q->received++;
        cpu_done_post(lp, event, lp->now, (struct flight_message){index});
    }
    start_drain(lp, event, pe, queue);
}

/* ---- packets ---- */

static void make_room(const struct machine_params *params, const struct event *event,
                      struct ipcq_queue *q)
{
    if (q->arrived_count == params->ipcq.slots)
        error_bug("unit %u received more messages than it has slots", event->dst);
    q->arrived = ring_grown(q->arrived, sizeof *q->arrived, q->arrived_first, &q->arrived_room,
                            params->ipcq.slots);
    q->arrived_first = 0;
}

static void message_arrives(struct lp *lp, const struct event *event, struct pe *pe,
                            const struct packet *packet)
{
    struct ipcq_queue *q = queue_of(pe, packet->queue);
    if (q->arrived_count == q->arrived_room)
        make_room(cube_of(lp)->params, event, q);
    uint32_t at = (q->arrived_first + q->arrived_count++) % q->arrived_room;
    q->arrived[at] = (struct arrived){
        .command = packet->of.data.command,
        .rows = packet->of.data.rows,
        .cols = packet->of.data.cols,
        .origin = packet->origin,
        .bytes = packet->bytes,
        .payload = event->payload,
        .dtype = (uint8_t)packet->of.data.dtype,
    };
    pe->ipcq.stats.slots_high_water = time_max(pe->ipcq.stats.slots_high_water, q->arrived_count);
    start_drain(lp, event, pe, packet->queue);
}

static void credit_arrives(struct lp *lp, const struct event *event, struct pe *pe,
                           const struct packet *packet)
{
    struct ipcq_queue *q = queue_of(pe, packet->queue);
    q->credits++;
    q->credit = (struct cause){packet->of.data.command, unit_cube(packet->origin),
                               (uint16_t)unit_pe(packet->origin), CAUSE_CREDIT};
    start_copy(lp, event, pe, packet->queue);
}

void ipcq_packet(struct lp *lp, const struct event *event)
{
    const struct packet *packet = ipcq_packet_body(event);
    struct pe *pe = pe_of(lp, event);
    if (packet->kind == PACKET_DATA)
        message_arrives(lp, event, pe, packet);
    else
        credit_arrives(lp, event, pe, packet);
}

/* ---- the part ---- */

static void init_queue(struct cube *cube, uint32_t pe, enum queue_id id)
{
    const struct machine_params *params = cube->params;
    struct ipcq_queue *queue = &cube->pe[pe].ipcq.queue[id];
    struct peer peer;
    queue->peer = NO_PEER;
    queue->credits = (uint32_t)params->ipcq.slots;
    if (!queue_peer(&params->geometry, cube->id, pe, id, &peer))
        return;
    queue->peer = unit_of(peer.cube, peer.pe, UNIT_IPCQ);
    fifo_init(&queue->sends, (uint32_t)params->ipcq.queue_commands);
    fifo_init(&queue->recvs, (uint32_t)params->ipcq.queue_commands);
    if (peer.cube != cube->id)
        queue->passes =
            route_next(&params->geometry, cube->id, peer.cube, &queue->link) != peer.cube;
}

static void init(struct cube *cube, uint32_t pe)
{
    for (uint32_t i = 0; i < QUEUES; i++)
        init_queue(cube, pe, (enum queue_id)i);
}

/* As if every queue had been used. */
static uint64_t memory(const struct machine_params *params)
{
    return QUEUES * (2 * part_block(params->ipcq.queue_commands, sizeof(uint16_t)) +
                     part_block(RING_START, sizeof(struct arrived)));
}

static void fini(struct pe *pe)
{
    for (uint32_t i = 0; i < QUEUES; i++) {
        fifo_fini(&pe->ipcq.queue[i].sends);
        fifo_fini(&pe->ipcq.queue[i].recvs);
        memory_free(pe->ipcq.queue[i].arrived);
    }
}

static bool check(const struct machine_params *params, struct key_clash *clash)
{
    if (params->ipcq.slot_bytes % 4 != 0)
        return KEY_CLASH(clash, "a slot holds whole f32 elements: a multiple of 4 is expected",
                         "ipcq.slot_bytes");
    if (params->ipcq.slot_bytes > params->scratch.bytes)
        return KEY_CLASH(clash, "ipcq.slot_bytes is above scratch.capacity_bytes",
                         "ipcq.slot_bytes", "scratch.capacity_bytes");
    return true;
}

static void collect(const struct cube *cube, const struct pe *pe, struct pe_result *result)
{
    (void)cube;
    result->ipcq = pe->ipcq.stats;
    result->busy_ps[ENGINE_IPCQ] = pe->ipcq.activity.busy_ps;
}

/* clang-format off */
static const struct key_row keys[] = {
    {"ipcq.slots", KEY_COUNT, KEY_AT(ipcq.slots), "1", "65536", "4", "slots of a queue pair",
     "assumption: (m, l, O) and one more"},
    {"ipcq.slot_bytes", KEY_COUNT, KEY_AT(ipcq.slot_bytes), "64", "1073741824", "8192",
     "size of a slot, in bytes", "assumption: holds O of 8 heads x 128 f32 twice"},
    {"ipcq.queue_commands", KEY_COUNT, KEY_AT(ipcq.queue_commands), "1", "1024", "8",
     "sends (and receives) of a queue pair accepted and not ended", "assumption: twice the slots"},
    {"ipcq.credit_bytes", KEY_COUNT, KEY_AT(ipcq.credit_bytes), "1", "4096", "16",
     "size of a credit message, in bytes", "assumption: one header"},
    {"ipcq.copy_pe_ns", KEY_NS, KEY_AT(ipcq.copy_ps[LEVEL_PE]), "0", "1000000", "639.7",
     "cost of a copy inside a CUBE, in ns", "fitted: decode case 3 at S = 8192 takes 20.2 us"},
    {"ipcq.copy_cube_ns", KEY_NS, KEY_AT(ipcq.copy_ps[LEVEL_CUBE]), "0", "1000000", "652.1",
     "cost of a copy between CUBEs, in ns",
     "fitted: decode case 4 at S = 8192 takes 14 us more than case 3"},
    {"ipcq.copy_sip_ns", KEY_NS, KEY_AT(ipcq.copy_ps[LEVEL_SIP]), "0", "1000000", "1000",
     "cost of a copy between SIPs, in ns", "assumption: above copy_cube_ns"},
};

#define PE(field, ...) {COLUMN_AT(COLUMN_PE, struct pe_result, ipcq.field), __VA_ARGS__}

static const struct column columns[] = {
    PE(sent_bytes, "sent_bytes", "bytes", "sent over IPCQ"),
    PE(received_bytes, "received_bytes", "bytes", "received over IPCQ"),
    PE(fragments, "fragments", "1", "IPCQ slots filled at the receivers of what the PE sent"),
    PE(slots_high_water, "slots_high_water", "1", "most IPCQ slots filled at once in one queue"),
};
/* clang-format on */

const struct part ipcq_part = {
    .name = "ipcq",
    PART_ROWS(keys, keys),
    PART_ROWS(columns, columns),
    .init = init,
    .fini = fini,
    .memory = memory,
    .check = check,
    .collect_pe = collect,
};
