/* How the engine's processes exchange events: a table of functions with one conformance suite.
 *
 * A mailbox is one neighbouring process. All calls are collective over the transport's processes
 * and made in the same order everywhere.
 */
#ifndef AHBM_PDES_TRANSPORT_H
#define AHBM_PDES_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pdes/core/event.h"

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
    struct batch in;  /* of the last exchange() */
};

/* What a user may ask for (transport_choice.h). */
enum transport_choice { TRANSPORT_AUTO, TRANSPORT_MPI, TRANSPORT_SHARED };

struct transport;

/* The two least of a multiset of values, equal ones counted apart. */
struct least {
    uint64_t first, second;
};

#define LEAST_NONE ((struct least){UINT64_MAX, UINT64_MAX})

static inline void least_add(struct least *least, uint64_t value)
{
    if (value < least->first) {
        least->second = least->first;
        least->first = value;
    } else if (value < least->second) {
        least->second = value;
    }
}

/* Adds to each of `into` what is in the same place of `from`. */
static inline void least_merge(struct least *into, const struct least *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        least_add(&into[i], from[i].first);
        least_add(&into[i], from[i].second);
    }
}

enum { ROUND_VALUES = 20 };

struct transport_ops {
    const char *name;
    /* Tells the transport its neighbours, before anything is exchanged. Borrows `boxes`. */
    void (*connect)(struct transport *transport, struct mailbox *boxes, uint32_t count);
    /* One round: sends every `out`, fills every `in`, and merges up to ROUND_VALUES values of all
     * processes, in place; in one synchronisation where it can. */
    void (*exchange)(struct transport *transport, struct least *values, uint32_t count);
    /* Merges the values of all processes, in place. */
    void (*minimum)(struct transport *transport, struct least *values, uint32_t count);
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
/* Copies these to the end; of the bytes any piece, cut anywhere. */
void batch_append(struct batch *batch, const struct event *events, uint32_t count,
                  const uint8_t *bytes, uint64_t bytes_count);
/* Moves all of `from` to the end of `into`; copies nothing when that is empty. */
void batch_move(struct batch *into, struct batch *from);
void batch_clear(struct batch *batch);
void batch_fini(struct batch *batch);

/* A single process. Owned by the caller: destroy with ops->destroy. */
struct transport *transport_local_new(void);

#endif
