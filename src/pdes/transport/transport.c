#include "pdes/transport/transport.h"

#include <string.h>

#include "support/memory.h"

enum { PAYLOAD_ALIGN = 8, EVENTS_START = 16 };

void batch_reserve(struct batch *batch, uint32_t events, uint64_t bytes)
{
    if (events > batch->capacity) {
        batch->capacity = events > 2 * batch->capacity ? events : 2 * batch->capacity;
        batch->events = memory_resize(batch->events, batch->capacity, sizeof *batch->events);
    }
    if (bytes > batch->bytes_capacity) {
        batch->bytes_capacity =
            bytes > 2 * batch->bytes_capacity ? bytes : 2 * batch->bytes_capacity;
        batch->bytes = memory_resize(batch->bytes, batch->bytes_capacity, 1);
    }
}

struct event *batch_add(struct batch *batch)
{
    if (batch->count == batch->capacity)
        batch_reserve(batch, batch->count < EVENTS_START ? EVENTS_START : batch->count + 1, 0);
    return &batch->events[batch->count++];
}

static uint64_t padded(uint32_t bytes)
{
    return ((uint64_t)bytes + PAYLOAD_ALIGN - 1) / PAYLOAD_ALIGN * PAYLOAD_ALIGN;
}

void *batch_add_payload(struct batch *batch, uint32_t bytes)
{
    uint64_t length = bytes, at = batch->bytes_count;
    batch->bytes_count += sizeof length + padded(bytes);
    batch_reserve(batch, 0, batch->bytes_count);
    memcpy(batch->bytes + at, &length, sizeof length);
    return batch->bytes + at + sizeof length;
}

const void *batch_payload(const struct batch *batch, uint64_t *at, uint32_t *bytes)
{
    uint64_t length;
    memcpy(&length, batch->bytes + *at, sizeof length);
    const void *data = batch->bytes + *at + sizeof length;
    *bytes = (uint32_t)length;
    *at += sizeof length + padded(*bytes);
    return data;
}

void batch_append(struct batch *batch, const struct event *events, uint32_t count,
                  const uint8_t *bytes, uint64_t bytes_count)
{
    batch_reserve(batch, batch->count + count, batch->bytes_count + bytes_count);
    if (count > 0) /* memcpy() takes no NULL */
        memcpy(batch->events + batch->count, events, count * sizeof *events);
    if (bytes_count > 0)
        memcpy(batch->bytes + batch->bytes_count, bytes, bytes_count);
    batch->count += count;
    batch->bytes_count += bytes_count;
}

void batch_move(struct batch *into, struct batch *from)
{
    if (into->count == 0 && into->bytes_count == 0) {
        struct batch empty = *into;
        *into = *from;
        *from = empty;
    } else {
        batch_append(into, from->events, from->count, from->bytes, from->bytes_count);
        batch_clear(from);
    }
}

void batch_clear(struct batch *batch)
{
    batch->count = 0;
    batch->bytes_count = 0;
}

void batch_fini(struct batch *batch)
{
    memory_free(batch->events);
    memory_free(batch->bytes);
    memset(batch, 0, sizeof *batch);
}
