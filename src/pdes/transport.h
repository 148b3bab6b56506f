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

struct mailbox {
    uint32_t peer; /* the neighbour's rank */
    uint32_t out_count;
    uint32_t out_capacity;
    uint32_t in_count;
    uint32_t in_capacity;
    struct event *out; /* owned by the mailbox, emptied by exchange() */
    struct event *in;  /* valid until the next exchange() */
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

/* The event slot to fill next in `box`. */
struct event *mailbox_add(struct mailbox *box);
/* Makes room for `count` incoming events. */
void mailbox_reserve_in(struct mailbox *box, uint32_t count);
void mailbox_fini(struct mailbox *box);

/* A single process. Owned by the caller: destroy with ops->destroy. */
struct transport *transport_local_new(void);

#endif
