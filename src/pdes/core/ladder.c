#include "pdes/core/ladder.h"

#include "support/memory.h"
#include "support/units.h"

enum { PREFETCH_BUCKETS = 12 };

static void list_push(struct ladder *ladder, struct ladder_list *list, uint32_t slot)
{
    ladder->nodes[slot].next = list->head;
    list->head = slot;
    list->count++;
}

static void rung_push(struct ladder *ladder, struct rung *rung, uint32_t slot)
{
    uint64_t bucket = (ladder->nodes[slot].time - rung->start) >> rung->shift;
    list_push(ladder, &rung->buckets[bucket], slot);
}

static void rung_go(struct rung *rung, uint32_t next)
{
    rung->next = next;
    rung->next_at = next == rung->count ? rung->end : rung->start + ((uint64_t)next << rung->shift);
}

void ladder_add(struct ladder *ladder, const struct queue_entry *entry)
{
    struct ladder_node *node = &ladder->nodes[entry->slot];
    node->time = entry->time;
    node->units = entry->units;
    node->seq = entry->seq;
    if (entry->time >= ladder->top_start) {
        ladder->top_least = time_min(ladder->top_least, entry->time);
        ladder->top_most = time_max(ladder->top_most, entry->time);
        list_push(ladder, &ladder->top, entry->slot);
        return;
    }
    struct rung *rung = ladder->rungs;
    while (entry->time < rung->next_at) /* the finest one begins at the floor */
        rung++;
    rung_push(ladder, rung, entry->slot);
}

/* Buckets for about one event each over [start, end). */
static void rung_begin(struct rung *rung, uint64_t start, uint64_t end, uint32_t events)
{
    uint64_t last = end - 1 - start;
    rung->start = start;
    rung->end = end;
    rung->shift = 0;
    while (last >> rung->shift > events)
        rung->shift++;
    rung->count = (uint32_t)(last >> rung->shift) + 1;
    rung_go(rung, 0);
    if (rung->count > rung->capacity) {
        rung->capacity = rung->count > 2 * rung->capacity ? rung->count : 2 * rung->capacity;
        rung->buckets = memory_resize(rung->buckets, rung->capacity, sizeof *rung->buckets);
    }
    for (uint32_t i = 0; i < rung->count; i++)
        rung->buckets[i] = (struct ladder_list){LADDER_END, 0};
}

/* Spreads a list over a new rung. */
static void spread(struct ladder *ladder, struct ladder_list list, uint64_t start, uint64_t end)
{
    struct rung *rung = &ladder->rungs[ladder->depth++];
    rung_begin(rung, start, end, list.count);
    for (uint32_t slot = list.head, next; slot != LADDER_END; slot = next) {
        next = ladder->nodes[slot].next;
        rung_push(ladder, rung, slot);
    }
}

static uint32_t take_list(const struct ladder *ladder, const struct ladder_list *list,
                          struct queue_entry *entries)
{
    uint32_t count = 0;
    for (uint32_t slot = list->head; slot != LADDER_END; slot = ladder->nodes[slot].next) {
        const struct ladder_node *node = &ladder->nodes[slot];
        entries[count++] = (struct queue_entry){node->time, node->units, node->seq, slot};
    }
    return count;
}

static void empty_top(struct ladder *ladder)
{
    ladder->top_start = time_add(ladder->top_most, 1);
    ladder->top = (struct ladder_list){LADDER_END, 0};
    ladder->top_least = TIME_NEVER;
    ladder->top_most = 0;
}

static uint32_t take_top(struct ladder *ladder, struct queue_entry *entries)
{
    struct ladder_list list = ladder->top;
    uint64_t least = ladder->top_least, most = ladder->top_most;
    if (list.count == 0)
        return 0;
    empty_top(ladder);
    ladder->floor = ladder->top_start;
    if (list.count <= LADDER_BUCKET || most == least)
        return take_list(ladder, &list, entries);
    ladder->floor = least;
    spread(ladder, list, least, ladder->top_start);
    return ladder_take(ladder, entries);
}

/* Leaves the rungs that are worked through, and finds the next bucket with events. */
static struct rung *next_bucket(struct ladder *ladder)
{
    for (; ladder->depth > 0; ladder->depth--) {
        struct rung *rung = &ladder->rungs[ladder->depth - 1];
        uint32_t next = rung->next;
        while (next < rung->count && rung->buckets[next].count == 0)
            next++;
        rung_go(rung, next);
        if (next < rung->count)
            return rung;
    }
    return NULL;
}

/* The first events of buckets that will soon be taken are on their way from memory by then. */
static void prefetch_ahead(const struct ladder *ladder, const struct rung *rung)
{
    uint32_t ahead = rung->next + PREFETCH_BUCKETS;
    if (ahead < rung->count && rung->buckets[ahead].count > 0)
        __builtin_prefetch(&ladder->nodes[rung->buckets[ahead].head]);
}

/* Whether a bucket is to be spread over a finer rung, which must be possible. */
static bool too_full(const struct ladder *ladder, const struct rung *rung)
{
    return rung->buckets[rung->next].count > LADDER_BUCKET && rung->shift > 0 &&
           ladder->depth < LADDER_RUNGS;
}

uint32_t ladder_take(struct ladder *ladder, struct queue_entry *entries)
{
    uint32_t count = 0;
    while (count < LADDER_TAKE) {
        struct rung *rung = next_bucket(ladder);
        if (rung == NULL && count == 0)
            return take_top(ladder, entries);
        if (rung == NULL || (too_full(ladder, rung) && count > 0)) {
            ladder->floor = rung == NULL ? ladder->top_start : rung->next_at;
            break;
        }
        bool full = too_full(ladder, rung);
        struct ladder_list list = rung->buckets[rung->next];
        uint64_t start = rung->next_at;
        prefetch_ahead(ladder, rung);
        rung_go(rung, rung->next + 1);
        ladder->floor = full ? start : rung->next_at;
        if (full)
            spread(ladder, list, start, rung->next_at);
        else
            count += take_list(ladder, &list, entries + count);
    }
    return count;
}

void ladder_fini(struct ladder *ladder)
{
    for (int i = 0; i < LADDER_RUNGS; i++)
        memory_free(ladder->rungs[i].buckets);
    memory_free(ladder->nodes);
}
