/* A queue of small numbers, its capacity fixed when it is made. */
#ifndef AHBM_MACHINE_FIFO_H
#define AHBM_MACHINE_FIFO_H

#include <assert.h>
#include <stdint.h>

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

#endif
