/* The far events of a queue (after Tang, Goh and Thng's ladder queue): unsorted in the buckets of a
 * few rungs, each finer than the one before; beyond them one unsorted list, the top. The near ones,
 * before `floor`, are the heap's. Internal to queue.c. */
#ifndef AHBM_PDES_LADDER_H
#define AHBM_PDES_LADDER_H

#include <stdbool.h>
#include <stdint.h>

struct queue_entry {
    uint64_t time;
    uint64_t units; /* dst << 32 | src */
    uint32_t seq;
    uint32_t slot;
};

/* A bucket with more than LADDER_BUCKET events is spread; LADDER_TAKE are taken at least, if there.
 */
enum { LADDER_RUNGS = 8, LADDER_BUCKET = 48, LADDER_TAKE = 16 };

#define LADDER_END UINT32_MAX

/* An event in a list; its place in the table is its slot. */
struct ladder_node {
    uint64_t time;
    uint64_t units;
    uint32_t seq;
    uint32_t next;
};

struct ladder_list {
    uint32_t head, count;
};

/* Bucket i holds the times [start + (i << shift), start + (i + 1 << shift)), up to `end`. */
struct rung {
    struct ladder_list *buckets;
    uint64_t start, end;
    uint64_t next_at; /* where bucket `next` begins; the buckets before it are done with */
    uint32_t next;
    uint32_t shift;
    uint32_t count, capacity;
};

struct ladder {
    bool on;            /* else the heap has all */
    uint64_t floor;     /* earlier events are not the ladder's; TIME_NEVER when it is off */
    uint64_t top_start; /* the top's events are not before it */
    uint64_t top_least, top_most;
    struct ladder_list top;
    struct rung rungs[LADDER_RUNGS];
    uint32_t depth; /* rungs in use */
    struct ladder_node *nodes;
};

/* Adds an event whose time is not before `floor`. */
void ladder_add(struct ladder *ladder, const struct queue_entry *entry);

/* Moves the next buckets to `entries`, which has room for all, and the floor behind them; returns
 * how many events. 0: the ladder is empty. */
uint32_t ladder_take(struct ladder *ladder, struct queue_entry *entries);

void ladder_fini(struct ladder *ladder);

#endif
