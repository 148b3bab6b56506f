/* Two boxes for each ordered pair of processes. What does not fit a box follows in pieces: piece k
 * of a batch is the bytes [k * capacity, (k + 1) * capacity) of its events followed by its
 * payloads.
 *
 * exchange() fills one box per neighbour, meets (meeting.h: the barrier that also takes the round's
 * minimum), and reads; the two boxes alternate, so that the next round's writers do not meet this
 * round's readers. */
#include "pdes/transport/shared.h"

#include <string.h>

#include "pdes/transport/meeting.h"
#include "pdes/transport/node.h"
#include "support/memory.h"

/* All boxes of a node together take about BUDGET bytes: what a round carries seldom needs more. */
enum { BOX_HEADER = 64, BOX_MIN = 1024, BOX_MAX = 128 * 1024, BUDGET = 4 * 1024 * 1024 };

struct box {
    uint64_t round; /* in which it was filled, from 1 */
    uint64_t piece;
    uint64_t count, bytes; /* of the whole batch */
    _Alignas(64) uint8_t data[];
};

_Static_assert(sizeof(struct box) == BOX_HEADER, "the data follow the header");

/* The boxes to and from a process. */
struct lane {
    struct box *to[2], *from[2];
};

struct transport_shared {
    struct transport base;
    struct node node;
    struct member member;
    struct mailbox *boxes;
    struct lane *lanes; /* by rank */
    uint32_t count;
    uint64_t capacity; /* of a box's data */
    uint64_t round;
};

static uint64_t capacity_of(uint32_t size)
{
    uint64_t pairs = (uint64_t)size * (size - 1), capacity = BOX_MAX;
    if (pairs > 0 && BUDGET / (2 * pairs) < BOX_MAX)
        capacity = BUDGET / (2 * pairs);
    if (capacity < BOX_MIN)
        capacity = BOX_MIN;
    return capacity / sizeof(struct event) * sizeof(struct event);
}

static uint64_t total(const struct batch *batch)
{
    return batch->count * sizeof(struct event) + batch->bytes_count;
}

static uint64_t pieces(const struct transport_shared *self, const struct batch *batch)
{
    return (total(batch) + self->capacity - 1) / self->capacity;
}

/* Piece `piece` of a batch: which events, and which of its payload bytes. */
struct range {
    uint64_t event, events;
    uint64_t byte, bytes;
};

static struct range range_of(uint64_t capacity, uint64_t piece, uint64_t count, uint64_t bytes)
{
    uint64_t at = piece * capacity, end = at + capacity, all = count * sizeof(struct event);
    struct range range = {0};
    if (at < all) {
        range.event = at / sizeof(struct event);
        range.events = (end < all ? capacity : all - at) / sizeof(struct event);
    }
    if (end > all) {
        range.byte = at > all ? at - all : 0;
        uint64_t last = end - all < bytes ? end - all : bytes;
        range.bytes = last > range.byte ? last - range.byte : 0;
    }
    return range;
}

static void write_box(const struct transport_shared *self, struct box *box,
                      const struct batch *batch, uint64_t piece)
{
    struct range range = range_of(self->capacity, piece, batch->count, batch->bytes_count);
    uint64_t events = range.events * sizeof(struct event);
    box->piece = piece;
    box->count = batch->count;
    box->bytes = batch->bytes_count;
    if (events > 0)
        memcpy(box->data, batch->events + range.event, events);
    if (range.bytes > 0)
        memcpy(box->data + events, batch->bytes + range.byte, range.bytes);
}

static void read_box(const struct transport_shared *self, const struct box *box,
                     struct batch *batch)
{
    struct range range = range_of(self->capacity, box->piece, box->count, box->bytes);
    const struct event *events = (const struct event *)(const void *)box->data;
    batch_append(batch, events, (uint32_t)range.events, box->data + range.events * sizeof *events,
                 range.bytes);
}

static struct box *box_at(const struct transport_shared *self, uint32_t from, uint32_t to,
                          uint32_t parity)
{
    uint64_t index = ((uint64_t)from * self->base.size + to) * 2 + parity;
    uint8_t *boxes = (uint8_t *)self->node.memory + meeting_bytes(self->base.size);
    return (struct box *)(void *)(boxes + index * (BOX_HEADER + self->capacity));
}

static void make_lanes(struct transport_shared *self)
{
    uint32_t rank = self->base.rank;
    self->lanes = memory_new(self->base.size, sizeof *self->lanes);
    for (uint32_t peer = 0; peer < self->base.size; peer++)
        for (uint32_t parity = 0; parity < 2; parity++) {
            self->lanes[peer].to[parity] = box_at(self, rank, peer, parity);
            self->lanes[peer].from[parity] = box_at(self, peer, rank, parity);
        }
}

static void shared_connect(struct transport *transport, struct mailbox *boxes, uint32_t count)
{
    struct transport_shared *self = (struct transport_shared *)transport;
    self->boxes = boxes;
    self->count = count;
}

static void count_message(struct transport_shared *self, const struct batch *batch)
{
    self->base.messages++;
    self->base.bytes += BOX_HEADER + total(batch);
}

/* Fills the boxes with piece `piece` of what there is; returns the pieces of the largest batch. */
static uint64_t write_all(struct transport_shared *self, uint64_t piece)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        const struct batch *out = &self->boxes[i].out;
        uint64_t needed = pieces(self, out);
        if (needed > most)
            most = needed;
        if (piece >= needed)
            continue; /* the box keeps an old round's number: nothing for this one */
        struct box *box = self->lanes[self->boxes[i].peer].to[self->round & 1];
        write_box(self, box, out, piece);
        box->round = self->round;
        if (piece == 0)
            count_message(self, out);
    }
    return most;
}

static void read_all(struct transport_shared *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const struct box *box = self->lanes[self->boxes[i].peer].from[self->round & 1];
        if (box->round == self->round)
            read_box(self, box, &self->boxes[i].in);
    }
}

static void shared_exchange(struct transport *transport, struct least *values, uint32_t count)
{
    struct transport_shared *self = (struct transport_shared *)transport;
    struct least all[ROUND_VALUES + 1];
    memcpy(all + 1, values, count * sizeof *values);
    for (uint32_t i = 0; i < self->count; i++)
        batch_clear(&self->boxes[i].in);
    for (uint64_t piece = 0, most = 1; piece < most; piece++) {
        self->round++;
        all[0].first = all[0].second = ~write_all(self, piece); /* the least is of the largest */
        member_minimum(&self->member, all, piece == 0 ? count + 1 : 1);
        most = ~all[0].first;
        read_all(self);
    }
    memcpy(values, all + 1, count * sizeof *values);
    for (uint32_t i = 0; i < self->count; i++)
        batch_clear(&self->boxes[i].out);
}

static void shared_minimum(struct transport *transport, struct least *values, uint32_t count)
{
    struct transport_shared *self = (struct transport_shared *)transport;
    member_minimum(&self->member, values, count);
}

static void shared_broadcast(struct transport *transport, void *data, size_t bytes, uint32_t root)
{
    struct transport_shared *self = (struct transport_shared *)transport;
    MPI_Bcast(data, (int)bytes, MPI_BYTE, (int)root, self->node.comm);
}

static void shared_destroy(struct transport *transport)
{
    struct transport_shared *self = (struct transport_shared *)transport;
    node_fini(&self->node);
    memory_free(self->lanes);
    memory_free(self);
}

static const struct transport_ops shared_ops = {
    .name = "shared",
    .connect = shared_connect,
    .exchange = shared_exchange,
    .minimum = shared_minimum,
    .broadcast = shared_broadcast,
    .destroy = shared_destroy,
};

void transport_shared_publish(struct transport *transport, struct least *values, uint32_t count)
{
    struct transport_shared *self = (struct transport_shared *)transport;
    member_publish(&self->member, values, count);
}

struct transport *transport_shared_new(MPI_Comm comm, void (*meanwhile)(void), struct error *why)
{
    struct transport_shared *self = memory_new(1, sizeof *self);
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    self->base =
        (struct transport){.ops = &shared_ops, .rank = (uint32_t)rank, .size = (uint32_t)size};
    self->capacity = capacity_of((uint32_t)size);
    uint64_t boxes = (uint64_t)2 * (uint64_t)size * (uint64_t)size;
    size_t bytes = meeting_bytes((uint32_t)size) + boxes * (BOX_HEADER + self->capacity);
    if (!node_init(&self->node, comm, bytes, why)) {
        memory_free(self);
        return NULL;
    }
    make_lanes(self);
    member_init(&self->member, self->node.memory, (uint32_t)rank, (uint32_t)size,
                self->node.processors);
    self->member.meanwhile = meanwhile;
    return &self->base;
}
