/* The pending events of one LP, popped in the total order of event.h.
 *
 * Two kinds, one interface: a 4-ary heap of 24-byte entries that carry the key, so that sifting
 * touches no event; and a ladder (ladder.h) that keeps far events unsorted in buckets and only the
 * nearest ones in such a heap. Events at the time of the last one popped, as parts without delay
 * send them to each other, pass by both in a short sorted list. The events lie in a free-listed
 * pool and do not move while the queue is not grown. No allocation unless more events are pending
 * than ever before.
 */
#ifndef AHBM_PDES_QUEUE_H
#define AHBM_PDES_QUEUE_H

#include "pdes/core/event.h"
#include "pdes/core/ladder.h"
#include "support/units.h"

enum queue_kind { QUEUE_HEAP, QUEUE_LADDER };
#define QUEUE_DEFAULT QUEUE_LADDER /* docs/adr/0011 */

enum { QUEUE_SOON = 8 }; /* more go the usual way */

struct queue {
    struct queue_entry *heap; /* the events before ladder.floor; for QUEUE_HEAP all */
    uint32_t heap_count;
    uint32_t soon_count;
    struct queue_entry soon[QUEUE_SOON]; /* the first one last */
    uint64_t now;                        /* time of the last one popped */
    uint32_t count;
    uint32_t capacity;
    uint32_t high_water;
    struct event *pool;
    uint32_t *free_slots;
    struct ladder ladder;
};

void queue_init(struct queue *queue, enum queue_kind kind, uint32_t capacity);
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
    uint64_t time = queue->heap_count == 0 ? TIME_NEVER : queue->heap[0].time;
    return queue->soon_count == 0 ? time : time_min(time, queue->soon[queue->soon_count - 1].time);
}

#endif
