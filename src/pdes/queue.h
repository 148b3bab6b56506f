/* The pending events of one LP, popped in the total order of event.h.
 *
 * A 4-ary heap of 24-byte entries that carry the key, so that sifting touches no event; the events
 * lie in a free-listed pool and do not move while the queue is not grown. No allocation unless more
 * events are pending than ever before.
 */
#ifndef AHBM_PDES_QUEUE_H
#define AHBM_PDES_QUEUE_H

#include "pdes/event.h"
#include "support/units.h"

struct queue_entry {
    uint64_t time;
    uint64_t units; /* dst << 32 | src */
    uint32_t seq;
    uint32_t slot;
};

struct queue {
    struct queue_entry *heap;
    struct event *pool;
    uint32_t *free_slots;
    uint32_t count;
    uint32_t capacity;
    uint32_t high_water;
};

void queue_init(struct queue *queue, uint32_t capacity);
void queue_fini(struct queue *queue);

/* Adds an event with this key; its kind and arguments are the caller's to fill through the pointer,
 * which is valid until the next queue_add(). */
struct event *queue_add(struct queue *queue, uint64_t time, uint32_t dst, uint32_t src,
                        uint32_t seq);

/* Removes the first event into `*out`. The queue must not be empty. */
void queue_pop(struct queue *queue, struct event *out);

/* Time of the first event, TIME_NEVER when there is none. */
static inline uint64_t queue_next_time(const struct queue *queue)
{
    return queue->count == 0 ? TIME_NEVER : queue->heap[0].time;
}

#endif
