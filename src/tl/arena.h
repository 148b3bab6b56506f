/* The PE's scratch as the recorder sees it: a stack of allocations, cut back when a scope ends.
 * Every scope has a number of its own, so that a tensor of a recycled one is recognised. */
#ifndef AHBM_TL_ARENA_H
#define AHBM_TL_ARENA_H

#include <stdbool.h>
#include <stdint.h>

enum { TL_SCOPE_DEPTH = 32, TL_ALIGNMENT = 64 /* bytes, of every allocation */ };

struct tl_arena {
    uint64_t bytes; /* in all */
    uint64_t used;
    uint64_t high_water;
    uint32_t depth;  /* live scopes */
    uint32_t serial; /* of the last scope begun; they count from 1, 0 is the persistent area */
    struct {
        uint32_t serial;
        uint64_t used; /* at its start */
    } scopes[TL_SCOPE_DEPTH];
};

/* False when there is no room; else `*addr` is aligned. */
bool tl_arena_take(struct tl_arena *arena, uint64_t bytes, uint64_t *addr);

/* The innermost live scope; 0 outside of all. */
uint32_t tl_arena_scope(const struct tl_arena *arena);

bool tl_arena_is_live(const struct tl_arena *arena, uint32_t scope);

/* False when too many scopes are open or have been. */
bool tl_arena_begin(struct tl_arena *arena);

/* False when `scope` is not the innermost. */
bool tl_arena_end(struct tl_arena *arena, uint32_t scope);

#endif
