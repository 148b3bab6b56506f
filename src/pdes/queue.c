#include "pdes/queue.h"

#include <assert.h>
#include <string.h>

#include "support/memory.h"

enum { ARITY = 4 };

static inline bool before(const struct queue_entry *a, const struct queue_entry *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    if (a->units != b->units)
        return a->units < b->units;
    return (int32_t)(a->seq - b->seq) < 0;
}

static void set_capacity(struct queue *queue, uint32_t capacity)
{
    queue->heap = memory_resize(queue->heap, capacity, sizeof *queue->heap);
    struct event *pool = memory_new_aligned(capacity, sizeof *pool, sizeof *pool);
    if (queue->capacity > 0)
        memcpy(pool, queue->pool, queue->capacity * sizeof *pool);
    memory_free(queue->pool);
    queue->pool = pool; /* each event in one cache line */
    queue->free_slots = memory_resize(queue->free_slots, capacity, sizeof *queue->free_slots);
    /* Only called when every slot is in use: the free list holds the new ones, lowest on top. */
    uint32_t added = capacity - queue->capacity;
    for (uint32_t i = 0; i < added; i++)
        queue->free_slots[i] = capacity - 1 - i;
    queue->capacity = capacity;
}

void queue_init(struct queue *queue, uint32_t capacity)
{
    memset(queue, 0, sizeof *queue);
    set_capacity(queue, capacity > 0 ? capacity : 1);
}

void queue_fini(struct queue *queue)
{
    memory_free(queue->heap);
    memory_free(queue->pool);
    memory_free(queue->free_slots);
    memset(queue, 0, sizeof *queue);
}

struct event *queue_add(struct queue *queue, uint64_t time, uint32_t dst, uint32_t src,
                        uint32_t seq)
{
    if (queue->count == queue->capacity)
        set_capacity(queue, queue->capacity * 2);
    uint32_t slot = queue->free_slots[queue->capacity - queue->count - 1];
    struct queue_entry entry = {time, (uint64_t)dst << 32 | src, seq, slot};
    uint32_t at = queue->count++;
    while (at > 0) {
        uint32_t parent = (at - 1) / ARITY;
        if (!before(&entry, &queue->heap[parent]))
            break;
        queue->heap[at] = queue->heap[parent];
        at = parent;
    }
    queue->heap[at] = entry;
    if (queue->count > queue->high_water)
        queue->high_water = queue->count;
    struct event *event = &queue->pool[slot];
    *event = (struct event){.time = time, .dst = dst, .src = src, .seq = seq};
    return event;
}

void queue_pop(struct queue *queue, struct event *out)
{
    assert(queue->count > 0);
    uint32_t slot = queue->heap[0].slot;
    *out = queue->pool[slot];
    struct queue_entry last = queue->heap[--queue->count];
    queue->free_slots[queue->capacity - queue->count - 1] = slot;
    uint32_t at = 0;
    for (;;) {
        uint32_t first = ARITY * at + 1;
        if (first >= queue->count)
            break;
        uint32_t least = first;
        uint32_t end = first + ARITY < queue->count ? first + ARITY : queue->count;
        for (uint32_t child = first + 1; child < end; child++)
            if (before(&queue->heap[child], &queue->heap[least]))
                least = child;
        if (!before(&queue->heap[least], &last))
            break;
        queue->heap[at] = queue->heap[least];
        at = least;
    }
    queue->heap[at] = last;
    __builtin_prefetch(&queue->pool[queue->heap[0].slot]);
}
