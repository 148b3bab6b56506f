#include "tl/batch.h"

#include <assert.h>

#include "support/memory.h"

enum { FIRST_CAPACITY = 16 };

void tl_batch_init(struct tl_batch *batch, uint32_t limit)
{
    assert(limit >= 1);
    *batch = (struct tl_batch){.limit = limit};
}

void tl_batch_fini(struct tl_batch *batch)
{
    memory_free(batch->commands);
    batch->commands = NULL;
}

uint64_t tl_batch_memory(uint64_t count)
{
    uint64_t capacity = FIRST_CAPACITY;
    while (capacity < count)
        capacity *= 2;
    return capacity * sizeof(struct command);
}

static void grow(struct tl_batch *batch)
{
    uint64_t wanted = batch->capacity ? 2 * (uint64_t)batch->capacity : FIRST_CAPACITY;
    batch->capacity = wanted < batch->limit ? (uint32_t)wanted : batch->limit;
    batch->commands = memory_resize(batch->commands, batch->capacity, sizeof *batch->commands);
}

void tl_batch_put(struct tl_batch *batch, const struct command *command)
{
    assert(!tl_batch_full(batch));
    if (batch->count == batch->capacity)
        grow(batch);
    batch->commands[batch->count++] = *command;
}

const struct command *tl_batch_take(struct tl_batch *batch)
{
    assert(!tl_batch_empty(batch));
    return &batch->commands[batch->taken++];
}

void tl_batch_restart(struct tl_batch *batch)
{
    assert(tl_batch_empty(batch));
    batch->count = batch->taken = 0;
}
