/* The shared transport of this node and the MPI transport of all processes side by side: each
 * mailbox of the caller's has one of the inner transport that reaches its peer, and batches move
 * between the two without being copied.
 *
 * What all processes agree on is merged inside each node, between the nodes' first processes, and
 * published inside each node; where every process neighbours all those of other nodes, it travels
 * in the headers instead, and only the node's own is merged. Why no round meets another one:
 * docs/adr/0012. */
#include "pdes/transport/hybrid.h"

#include <limits.h>

#include "pdes/transport/messages.h"
#include "pdes/transport/shared.h"
#include "support/memory.h"

#define FAR UINT32_MAX

struct transport_hybrid {
    struct transport base;
    struct transport *inside;  /* of this node, by ranks of its own */
    struct transport *between; /* of all processes */
    struct transport *leaders; /* of the nodes' first processes; NULL on the others */
    int *here;                 /* the ranks of this node's processes, ascending */
    uint32_t here_count;
    struct mailbox *boxes; /* the caller's */
    struct mailbox *inner; /* one for each of them, those inside the node first */
    uint32_t *inner_of;    /* by the caller's: which is its own */
    uint32_t count, near_count;
    bool in_headers; /* what all agree on */
};

/* Open MPI moves messages only inside its calls, and a neighbour may wait for one of this process
 * while this process waits for its node. */
static void keep_messages_going(void)
{
    int found;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

static uint32_t rank_here(const struct transport_hybrid *self, uint32_t rank)
{
    for (uint32_t i = 0; i < self->here_count; i++)
        if (self->here[i] == (int)rank)
            return i;
    return FAR;
}

static void disconnect(struct transport_hybrid *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        batch_fini(&self->inner[i].out);
        batch_fini(&self->inner[i].in);
    }
    memory_free(self->inner);
    memory_free(self->inner_of);
}

static uint32_t count_near(const struct transport_hybrid *self)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->count; i++)
        count += rank_here(self, self->boxes[i].peer) != FAR;
    return count;
}

static void make_inner(struct transport_hybrid *self)
{
    uint32_t near = 0, far = self->near_count;
    self->inner = memory_new(self->count, sizeof *self->inner);
    self->inner_of = memory_new(self->count, sizeof *self->inner_of);
    for (uint32_t i = 0; i < self->count; i++) {
        uint32_t peer = self->boxes[i].peer, local = rank_here(self, peer);
        self->inner_of[i] = local != FAR ? near++ : far++;
        struct mailbox *inner = &self->inner[self->inner_of[i]];
        inner->peer = local != FAR ? local : peer;
    }
}

static void hybrid_connect(struct transport *transport, struct mailbox *boxes, uint32_t count)
{
    struct transport_hybrid *self = (struct transport_hybrid *)transport;
    disconnect(self);
    self->boxes = boxes;
    self->count = count;
    self->near_count = count_near(self);
    make_inner(self);
    uint32_t far_count = count - self->near_count;
    self->inside->ops->connect(self->inside, self->inner, self->near_count);
    self->between->ops->connect(self->between, self->inner + self->near_count, far_count);
    struct least all = {far_count == transport->size - self->here_count, UINT64_MAX};
    self->between->ops->minimum(self->between, &all, 1);
    self->in_headers = all.first == 1;
}

static void count_messages(struct transport_hybrid *self)
{
    self->base.messages = self->inside->messages + self->between->messages;
    self->base.bytes = self->inside->bytes + self->between->bytes;
}

/* Merges the values that each node has agreed on. */
static void agree_between(struct transport_hybrid *self, struct least *values, uint32_t count)
{
    if (self->leaders != NULL)
        self->leaders->ops->minimum(self->leaders, values, count);
    transport_shared_publish(self->inside, values, count);
}

static void hybrid_minimum(struct transport *transport, struct least *values, uint32_t count)
{
    struct transport_hybrid *self = (struct transport_hybrid *)transport;
    self->inside->ops->minimum(self->inside, values, count);
    agree_between(self, values, count);
}

/* One round of both; the values become what all agree on. */
static void exchange_both(struct transport_hybrid *self, struct least *values, uint32_t count)
{
    struct least heard[ROUND_VALUES];
    for (uint32_t i = 0; i < count; i++)
        heard[i] = LEAST_NONE;
    transport_mpi_round(self->between, values, self->in_headers ? heard : NULL, count);
    self->inside->ops->exchange(self->inside, values, count);
    if (self->in_headers)
        least_merge(values, heard, count);
    else if (count > 0)
        agree_between(self, values, count);
}

static void hybrid_exchange(struct transport *transport, struct least *values, uint32_t count)
{
    struct transport_hybrid *self = (struct transport_hybrid *)transport;
    for (uint32_t i = 0; i < self->count; i++)
        batch_move(&self->inner[self->inner_of[i]].out, &self->boxes[i].out);
    exchange_both(self, values, count);
    for (uint32_t i = 0; i < self->count; i++) {
        batch_clear(&self->boxes[i].in);
        batch_move(&self->boxes[i].in, &self->inner[self->inner_of[i]].in);
    }
    count_messages(self);
}

static void hybrid_broadcast(struct transport *transport, void *data, size_t bytes, uint32_t root)
{
    struct transport_hybrid *self = (struct transport_hybrid *)transport;
    self->between->ops->broadcast(self->between, data, bytes, root);
}

static void hybrid_destroy(struct transport *transport)
{
    struct transport_hybrid *self = (struct transport_hybrid *)transport;
    disconnect(self);
    self->inside->ops->destroy(self->inside);
    self->between->ops->destroy(self->between);
    if (self->leaders != NULL)
        self->leaders->ops->destroy(self->leaders);
    memory_free(self->here);
    memory_free(self);
}

static const struct transport_ops hybrid_ops = {
    .name = "shared+mpi",
    .connect = hybrid_connect,
    .exchange = hybrid_exchange,
    .minimum = hybrid_minimum,
    .broadcast = hybrid_broadcast,
    .destroy = hybrid_destroy,
};

/* True when no process has an error; else all get that of the first one that has. */
static bool agree_on_error(MPI_Comm comm, struct error *why)
{
    int rank, first;
    MPI_Comm_rank(comm, &rank);
    int mine = why->code != ERROR_NONE ? rank : INT_MAX;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm);
    if (first == INT_MAX)
        return true;
    MPI_Bcast(why, sizeof *why, MPI_BYTE, first, comm);
    return false;
}

/* The node's shared transport, on all nodes or on none. */
static struct transport *open_inside(MPI_Comm comm, MPI_Comm here, struct error *why)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length;
    error_clear(why);
    struct transport *inside = transport_shared_new(here, keep_messages_going, why);
    MPI_Get_processor_name(name, &length);
    if (inside == NULL)
        error_context(why, "on node %s", name);
    if (agree_on_error(comm, why))
        return inside;
    if (inside != NULL)
        inside->ops->destroy(inside);
    return NULL;
}

static struct transport *open_leaders(MPI_Comm comm, bool leader)
{
    MPI_Comm leaders;
    MPI_Comm_split(comm, leader ? 0 : MPI_UNDEFINED, 0, &leaders);
    if (!leader)
        return NULL;
    struct transport *transport = transport_mpi_new(leaders);
    MPI_Comm_free(&leaders);
    return transport;
}

struct transport *transport_hybrid_new(MPI_Comm comm, MPI_Comm here, struct error *why)
{
    struct transport *inside = open_inside(comm, here, why);
    if (inside == NULL)
        return NULL;
    struct transport_hybrid *self = memory_new(1, sizeof *self);
    self->inside = inside;
    self->between = transport_mpi_new(comm);
    self->leaders = open_leaders(comm, inside->rank == 0);
    self->base = (struct transport){
        .ops = &hybrid_ops, .rank = self->between->rank, .size = self->between->size};
    self->here_count = inside->size;
    self->here = memory_new(self->here_count, sizeof *self->here);
    int rank = (int)self->base.rank;
    MPI_Allgather(&rank, 1, MPI_INT, self->here, 1, MPI_INT, here);
    return &self->base;
}
