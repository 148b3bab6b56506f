#include "pdes/core/queue.h"

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
    if (queue->ladder.on)
        queue->ladder.nodes =
            memory_resize(queue->ladder.nodes, capacity, sizeof *queue->ladder.nodes);
}

void queue_init(struct queue *queue, enum queue_kind kind, uint32_t capacity)
{
    memset(queue, 0, sizeof *queue);
    queue->ladder.top = (struct ladder_list){LADDER_END, 0};
    queue->ladder.top_least = TIME_NEVER;
    queue->ladder.on = kind == QUEUE_LADDER;
    queue->ladder.floor = kind == QUEUE_LADDER ? 0 : TIME_NEVER;
    set_capacity(queue, capacity > 0 ? capacity : 1);
}

void queue_fini(struct queue *queue)
{
    memory_free(queue->heap);
    memory_free(queue->pool);
    memory_free(queue->free_slots);
    ladder_fini(&queue->ladder);
    memset(queue, 0, sizeof *queue);
}

static void sift_up(struct queue_entry *heap, uint32_t at, struct queue_entry entry)
{
    while (at > 0) {
        uint32_t parent = (at - 1) / ARITY;
        if (!before(&entry, &heap[parent]))
            break;
        heap[at] = heap[parent];
        at = parent;
    }
    heap[at] = entry;
}

/* Puts `entry` at `at` or below, in a heap of `count` entries. */
static void sift_down(struct queue_entry *heap, uint32_t count, uint32_t at,
                      struct queue_entry entry)
{
    for (;;) {
        uint32_t first = ARITY * at + 1;
        if (first >= count)
            break;
        uint32_t least = first;
        uint32_t end = first + ARITY < count ? first + ARITY : count;
        for (uint32_t child = first + 1; child < end; child++)
            if (before(&heap[child], &heap[least]))
                least = child;
        if (!before(&heap[least], &entry))
            break;
        heap[at] = heap[least];
        at = least;
    }
    heap[at] = entry;
}

/* The heap is empty: takes the ladder's nearest events into it. */
static void refill(struct queue *queue)
{
    uint32_t count = ladder_take(&queue->ladder, queue->heap);
    queue->heap_count = count;
    for (uint32_t i = 0; i < count; i++)
        __builtin_prefetch(&queue->pool[queue->heap[i].slot]);
    for (uint32_t at = count / ARITY + 1; at-- > 0;)
        if (at < count)
            sift_down(queue->heap, count, at, queue->heap[at]);
}

static void add_soon(struct queue *queue, struct queue_entry entry)
{
    uint32_t at = queue->soon_count++;
    for (; at > 0 && before(&queue->soon[at - 1], &entry); at--)
        queue->soon[at] = queue->soon[at - 1];
    queue->soon[at] = entry;
}

struct event *queue_add(struct queue *queue, uint64_t time, uint32_t dst, uint32_t src,
                        uint32_t seq)
{
    if (queue->count == queue->capacity)
        set_capacity(queue, queue->capacity * 2);
    uint32_t slot = queue->free_slots[queue->capacity - queue->count++ - 1];
    uint64_t units = (uint64_t)dst << 32 | src;
    if (queue->count > queue->high_water)
        queue->high_water = queue->count;
    if (time == queue->now && queue->soon_count < QUEUE_SOON) {
        add_soon(queue, (struct queue_entry){time, units, seq, slot});
    } else if (time < queue->ladder.floor) {
        sift_up(queue->heap, queue->heap_count++, (struct queue_entry){time, units, seq, slot});
    } else {
        ladder_add(&queue->ladder, &(struct queue_entry){time, units, seq, slot});
        if (queue->heap_count == 0)
            refill(queue);
    }
    struct event *event = &queue->pool[slot];
    *event = (struct event){.time = time, .dst = dst, .src = src, .seq = seq};
    return event;
}

/* Takes the first of the heap out of it. */
static uint32_t pop_heap(struct queue *queue)
{
    uint32_t slot = queue->heap[0].slot;
    struct queue_entry last = queue->heap[--queue->heap_count];
    if (queue->heap_count > 0)
        sift_down(queue->heap, queue->heap_count, 0, last);
    else if (queue->count > queue->soon_count + 1)
        refill(queue);
    __builtin_prefetch(&queue->pool[queue->heap[0].slot]);
    return slot;
}

static bool first_is_soon(const struct queue *queue)
{
    if (queue->soon_count == 0)
        return false;
    return queue->heap_count == 0 || before(&queue->soon[queue->soon_count - 1], &queue->heap[0]);
}

void queue_pop(struct queue *queue, struct event *out)
{
    assert(queue->count > 0);
    uint32_t slot = first_is_soon(queue) ? queue->soon[--queue->soon_count].slot : pop_heap(queue);
    *out = queue->pool[slot];
    queue->now = out->time;
    queue->free_slots[queue->capacity - queue->count--] = slot;
}
