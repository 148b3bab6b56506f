#include "tl/arena.h"

bool tl_arena_take(struct tl_arena *arena, uint64_t bytes, uint64_t *addr)
{
    uint64_t start = (arena->used + TL_ALIGNMENT - 1) / TL_ALIGNMENT * TL_ALIGNMENT;
    if (start > arena->bytes || bytes > arena->bytes - start)
        return false;
    *addr = start;
    arena->used = start + bytes;
    if (arena->used > arena->high_water)
        arena->high_water = arena->used;
    return true;
}

uint32_t tl_arena_scope(const struct tl_arena *arena)
{
    return arena->depth ? arena->scopes[arena->depth - 1].serial : 0;
}

bool tl_arena_is_live(const struct tl_arena *arena, uint32_t scope)
{
    for (uint32_t i = arena->depth; i > 0; i--)
        if (arena->scopes[i - 1].serial == scope)
            return true;
    return scope == 0;
}

bool tl_arena_begin(struct tl_arena *arena)
{
    if (arena->depth == TL_SCOPE_DEPTH || arena->serial == UINT32_MAX)
        return false;
    arena->scopes[arena->depth].serial = ++arena->serial;
    arena->scopes[arena->depth].used = arena->used;
    arena->depth++;
    return true;
}

bool tl_arena_end(struct tl_arena *arena, uint32_t scope)
{
    if (arena->depth == 0 || tl_arena_scope(arena) != scope)
        return false;
    arena->depth--;
    arena->used = arena->scopes[arena->depth].used;
    return true;
}
