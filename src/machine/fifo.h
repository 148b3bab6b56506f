/* A queue of small numbers, its capacity fixed when it is made. */
#ifndef AHBM_MACHINE_FIFO_H
#define AHBM_MACHINE_FIFO_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "support/memory.h"

struct fifo {
    uint16_t *items;
    uint32_t capacity, first, count;
};

static inline void fifo_init(struct fifo *fifo, uint32_t capacity)
{
    *fifo = (struct fifo){memory_new(capacity, sizeof *fifo->items), capacity, 0, 0};
}

static inline void fifo_fini(struct fifo *fifo)
{
    memory_free(fifo->items);
}

static inline void fifo_push(struct fifo *fifo, uint16_t item)
{
    assert(fifo->count < fifo->capacity);
    fifo->items[(fifo->first + fifo->count++) % fifo->capacity] = item;
}

static inline uint16_t fifo_head(const struct fifo *fifo)
{
    assert(fifo->count > 0);
    return fifo->items[fifo->first];
}

static inline uint16_t fifo_pop(struct fifo *fifo)
{
    uint16_t item = fifo_head(fifo);
    fifo->first = fifo->first + 1 == fifo->capacity ? 0 : fifo->first + 1;
    fifo->count--;
    return item;
}

/* A larger ring with the items of the old one, which is freed, from its beginning on. Queues have
 * room for what has come at one time: a machine with many slots costs no more than one with few. */
enum { RING_START = 4 };
static inline void *ring_grown(void *items, size_t bytes, uint32_t first, uint32_t *room,
                               uint64_t most)
{
    uint32_t old = *room, before = old - first;
    uint64_t larger_room = old == 0 ? RING_START : 2 * (uint64_t)old;
    *room = (uint32_t)(larger_room < most ? larger_room : most);
    char *larger = memory_new(*room, bytes);
    if (old > 0) {
        memcpy(larger, (char *)items + first * bytes, before * bytes);
        memcpy(larger + before * bytes, items, first * bytes);
    }
    memory_free(items);
    return larger;
}

#endif
