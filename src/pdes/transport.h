/* How the engine's processes exchange events: a table of functions with one conformance suite.
 *
 * A mailbox is one neighbouring process. exchange() sends every mailbox's `out` and fills its `in`;
 * it is a synchronisation with the neighbours only. All calls are collective over the transport's
 * processes (exchange: over neighbours) and made in the same order everywhere.
 */
#ifndef AHBM_PDES_TRANSPORT_H
#define AHBM_PDES_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "pdes/event.h"

/* Events on their way, and the payloads of those that carry one, in their order: each an 8-byte
 * length and the bytes, padded to 8. */
struct batch {
    struct event *events;
    uint32_t count, capacity;
    uint8_t *bytes;
    uint64_t bytes_count, bytes_capacity;
};

struct mailbox {
    uint32_t peer;    /* the neighbour's rank */
    struct batch out; /* emptied by exchange() */
    struct batch in;  /* valid until the next exchange() */
};

struct transport;

struct transport_ops {
    const char *name;
    /* Tells the transport its neighbours, before the first exchange(). Borrows `boxes`. */
    void (*connect)(struct transport *transport, struct mailbox *boxes, uint32_t count);
    /* One round: `promise` travels in each header. */
    void (*exchange)(struct transport *transport, uint64_t promise);
    /* Element-wise minimum over all processes, in place. */
    void (*minimum)(struct transport *transport, uint64_t *values, uint32_t count);
    void (*broadcast)(struct transport *transport, void *data, size_t bytes, uint32_t root);
    void (*destroy)(struct transport *transport);
};

struct transport {
    const struct transport_ops *ops;
    uint32_t rank;
    uint32_t size;
    uint64_t messages; /* sent by this process, bodies that overflow a buffer counted apart */
    uint64_t bytes;    /* sent by this process in them */
};

/* The event to fill next. */
struct event *batch_add(struct batch *batch);
/* Room for the payload of the event added last. */
void *batch_add_payload(struct batch *batch, uint32_t bytes);
/* The payload at `*at`, which moves on to the next one. */
const void *batch_payload(const struct batch *batch, uint64_t *at, uint32_t *bytes);
/* Makes room for this much, of which nothing is there yet. */
void batch_reserve(struct batch *batch, uint32_t events, uint64_t bytes);
void batch_clear(struct batch *batch);
void batch_fini(struct batch *batch);

/* A single process. Owned by the caller: destroy with ops->destroy. */
struct transport *transport_local_new(void);

#endif
