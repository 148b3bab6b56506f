/* One process: no neighbours, and every minimum is its own. */
#include "pdes/transport/transport.h"

#include "support/memory.h"

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
    .destroy = local_destroy,
};

struct transport *transport_local_new(void)
{
    struct transport *self = memory_new(1, sizeof *self);
    *self = (struct transport){.ops = &local_ops, .rank = 0, .size = 1};
    return self;
}
