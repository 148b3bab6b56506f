/* One buffer to each neighbour and round, always, so that a round needs no count exchange: a header
 * and as many events as fit below the eager limit (a message over 4 KB leaves Open MPI's eager
 * path); what is left over follows in a second message whose length the header tells. When every
 * process neighbours every other, the round's minimum travels in the headers. */
#include "pdes/transport/messages.h"

#include <limits.h>
#include <string.h>

#include "support/error.h"
#include "support/memory.h"

/* Message tags: the round's parity keeps a fast neighbour's next round apart from this one. */
enum tag { TAG_ROUND = 0x100, TAG_REST = 0x200, TAG_PAYLOAD = 0x300 };
enum { INLINE_EVENTS = 47 };

struct buffer {
    uint64_t round;
    uint64_t count;
    uint64_t payload_bytes;
    struct least values[ROUND_VALUES];
    uint64_t spare;
    struct event events[INLINE_EVENTS];
};

struct transport_mpi {
    struct transport base;
    MPI_Comm comm;
    MPI_Datatype pair; /* struct least */
    MPI_Op merge;
    struct mailbox *boxes;
    uint32_t count;
    bool all_neighbours; /* of each other: the minimum travels in the headers */
    struct buffer *outgoing;
    struct buffer *incoming;
    MPI_Request *requests; /* 4 per neighbour */
    uint64_t round;
};

static void free_buffers(struct transport_mpi *self)
{
    memory_free(self->outgoing);
    memory_free(self->incoming);
    memory_free(self->requests);
}

static void mpi_connect(struct transport *transport, struct mailbox *boxes, uint32_t count)
{
    struct transport_mpi *self = (struct transport_mpi *)transport;
    int all = count == transport->size - 1;
    free_buffers(self);
    self->boxes = boxes;
    self->count = count;
    self->outgoing = memory_new_aligned(count, sizeof *self->outgoing, 64);
    self->incoming = memory_new_aligned(count, sizeof *self->incoming, 64);
    self->requests = memory_new((size_t)4 * count, sizeof(MPI_Request));
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, self->comm);
    self->all_neighbours = all;
}

static int bytes_of(uint32_t events)
{
    size_t bytes = (size_t)events * sizeof(struct event);
    if (bytes > INT_MAX)
        error_bug("%u events in one message", events);
    return (int)bytes;
}

static uint32_t within_buffer(uint32_t events)
{
    return events < INLINE_EVENTS ? events : INLINE_EVENTS;
}

/* An empty mailbox has no array yet, and memcpy() takes no NULL. */
static void copy_events(struct event *to, const struct event *from, uint32_t count)
{
    if (count > 0)
        memcpy(to, from, count * sizeof *to);
}

static void send_buffer(struct transport_mpi *self, uint32_t i, const struct least *values,
                        uint32_t count, int tag)
{
    struct mailbox *box = &self->boxes[i];
    struct buffer *out = &self->outgoing[i];
    out->round = self->round;
    out->count = box->out.count;
    out->payload_bytes = box->out.bytes_count;
    memcpy(out->values, values, count * sizeof *values);
    uint32_t within = within_buffer(box->out.count);
    int bytes = (int)offsetof(struct buffer, events) + bytes_of(within);
    copy_events(out->events, box->out.events, within);
    MPI_Isend(out, bytes, MPI_BYTE, (int)box->peer, tag, self->comm,
              &self->requests[self->count + i]);
    self->base.messages++;
    self->base.bytes += (uint64_t)bytes;
}

static void start_round(struct transport_mpi *self, const struct least *values, uint32_t count)
{
    int tag = TAG_ROUND + (int)(self->round & 1);
    for (uint32_t i = 0; i < self->count; i++)
        MPI_Irecv(&self->incoming[i], sizeof(struct buffer), MPI_BYTE, (int)self->boxes[i].peer,
                  tag, self->comm, &self->requests[i]);
    for (uint32_t i = 0; i < self->count; i++)
        send_buffer(self, i, values, count, tag);
}

static void start_receive(struct transport_mpi *self, void *data, int bytes, uint32_t peer, int tag,
                          int *pending)
{
    if (bytes > 0)
        MPI_Irecv(data, bytes, MPI_BYTE, (int)peer, tag, self->comm, &self->requests[(*pending)++]);
}

static void start_send(struct transport_mpi *self, const void *data, int bytes, uint32_t peer,
                       int tag, int *pending)
{
    if (bytes == 0)
        return;
    MPI_Isend(data, bytes, MPI_BYTE, (int)peer, tag, self->comm, &self->requests[(*pending)++]);
    self->base.messages++;
    self->base.bytes += (uint64_t)bytes;
}

static int payload_bytes_of(const struct batch *batch)
{
    if (batch->bytes_count > INT_MAX)
        error_bug("%llu bytes of payload in one message", (unsigned long long)batch->bytes_count);
    return (int)batch->bytes_count;
}

/* What of a batch did not fit its buffer: the further events, and the payloads. */
static void exchange_rest(struct transport_mpi *self)
{
    int parity = (int)(self->round & 1), pending = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        struct mailbox *box = &self->boxes[i];
        uint32_t in = within_buffer(box->in.count), out = within_buffer(box->out.count);
        start_receive(self, box->in.events + in, bytes_of(box->in.count - in), box->peer,
                      TAG_REST + parity, &pending);
        start_receive(self, box->in.bytes, payload_bytes_of(&box->in), box->peer,
                      TAG_PAYLOAD + parity, &pending);
        start_send(self, box->out.events + out, bytes_of(box->out.count - out), box->peer,
                   TAG_REST + parity, &pending);
        start_send(self, box->out.bytes, payload_bytes_of(&box->out), box->peer,
                   TAG_PAYLOAD + parity, &pending);
    }
    MPI_Waitall(pending, self->requests, MPI_STATUSES_IGNORE);
}

/* The header and the events within the buffer of a neighbour. */
static void take_buffer(struct transport_mpi *self, struct mailbox *box, const struct buffer *in)
{
    if (in->round != self->round)
        error_bug("rank %u got round %llu of rank %u in round %llu", self->base.rank,
                  (unsigned long long)in->round, box->peer, (unsigned long long)self->round);
    batch_reserve(&box->in, (uint32_t)in->count, in->payload_bytes);
    box->in.count = (uint32_t)in->count;
    box->in.bytes_count = in->payload_bytes;
    copy_events(box->in.events, in->events, within_buffer(box->in.count));
}

static void mpi_minimum(struct transport *transport, struct least *values, uint32_t count)
{
    struct transport_mpi *self = (struct transport_mpi *)transport;
    MPI_Allreduce(MPI_IN_PLACE, values, (int)count, self->pair, self->merge, self->comm);
}

static void take_values(const struct transport_mpi *self, struct least *values, uint32_t count)
{
    for (uint32_t i = 0; i < self->count; i++)
        least_merge(values, self->incoming[i].values, count);
}

void transport_mpi_round(struct transport *transport, const struct least *values,
                         struct least *heard, uint32_t count)
{
    struct transport_mpi *self = (struct transport_mpi *)transport;
    start_round(self, values, count);
    MPI_Waitall(2 * (int)self->count, self->requests, MPI_STATUSES_IGNORE);
    for (uint32_t i = 0; i < self->count; i++)
        take_buffer(self, &self->boxes[i], &self->incoming[i]);
    exchange_rest(self);
    for (uint32_t i = 0; i < self->count; i++)
        batch_clear(&self->boxes[i].out);
    self->round++;
    if (heard != NULL)
        take_values(self, heard, count);
}

static void mpi_exchange(struct transport *transport, struct least *values, uint32_t count)
{
    const struct transport_mpi *self = (const struct transport_mpi *)transport;
    transport_mpi_round(transport, values, self->all_neighbours ? values : NULL, count);
    if (!self->all_neighbours && count > 0)
        mpi_minimum(transport, values, count);
}

static void mpi_broadcast(struct transport *transport, void *data, size_t bytes, uint32_t root)
{
    struct transport_mpi *self = (struct transport_mpi *)transport;
    MPI_Bcast(data, (int)bytes, MPI_BYTE, (int)root, self->comm);
}

static void mpi_destroy(struct transport *transport)
{
    struct transport_mpi *self = (struct transport_mpi *)transport;
    MPI_Op_free(&self->merge);
    MPI_Type_free(&self->pair);
    MPI_Comm_free(&self->comm);
    free_buffers(self);
    memory_free(self);
}

static const struct transport_ops mpi_ops = {
    .name = "mpi",
    .connect = mpi_connect,
    .exchange = mpi_exchange,
    .minimum = mpi_minimum,
    .broadcast = mpi_broadcast,
    .destroy = mpi_destroy,
};

static void merge(void *from, void *into, int *count, MPI_Datatype *type)
{
    (void)type;
    least_merge(into, from, (uint32_t)*count);
}

struct transport *transport_mpi_new(MPI_Comm comm)
{
    struct transport_mpi *self = memory_new(1, sizeof *self);
    int rank, size;
    MPI_Comm_dup(comm, &self->comm);
    MPI_Type_contiguous(2, MPI_UINT64_T, &self->pair);
    MPI_Type_commit(&self->pair);
    MPI_Op_create(merge, 1, &self->merge);
    MPI_Comm_rank(self->comm, &rank);
    MPI_Comm_size(self->comm, &size);
    self->base =
        (struct transport){.ops = &mpi_ops, .rank = (uint32_t)rank, .size = (uint32_t)size};
    return &self->base;
}
