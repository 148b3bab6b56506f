/* One process: no neighbours, and every minimum is its own. */
#include "pdes/transport.h"

#include <string.h>

#include "support/memory.h"

struct transport_local {
    struct transport base;
    uint64_t tally[TALLY_WORDS];
};

static void local_connect(struct transport *transport, struct mailbox *boxes, uint32_t count)
{
    (void)transport, (void)boxes, (void)count;
}

static void local_exchange(struct transport *transport, struct least *values, uint32_t count)
{
    (void)transport, (void)values, (void)count;
}

static void local_minimum(struct transport *transport, struct least *values, uint32_t count)
{
    (void)transport, (void)values, (void)count;
}

static void local_broadcast(struct transport *transport, void *data, size_t bytes, uint32_t root)
{
    (void)transport, (void)data, (void)bytes, (void)root;
}

static void local_post(struct transport *transport, struct mailbox *box)
{
    (void)transport, (void)box;
}

static void local_poll(struct transport *transport)
{
    (void)transport;
}

static void local_tally_start(struct transport *transport, const uint64_t *values)
{
    struct transport_local *self = (struct transport_local *)transport;
    memcpy(self->tally, values, sizeof self->tally);
}

static bool local_tally_done(struct transport *transport, uint64_t *sums)
{
    struct transport_local *self = (struct transport_local *)transport;
    memcpy(sums, self->tally, sizeof self->tally);
    return true;
}

static void local_destroy(struct transport *transport)
{
    memory_free(transport);
}

static const struct transport_ops local_ops = {
    .name = "local",
    .connect = local_connect,
    .exchange = local_exchange,
    .minimum = local_minimum,
    .broadcast = local_broadcast,
    .post = local_post,
    .poll = local_poll,
    .tally_start = local_tally_start,
    .tally_done = local_tally_done,
    .destroy = local_destroy,
};

struct transport *transport_local_new(void)
{
    struct transport_local *self = memory_new(1, sizeof *self);
    self->base = (struct transport){.ops = &local_ops, .rank = 0, .size = 1};
    return &self->base;
}
