/* Commands recorded and not yet taken: filled to its limit, drained, filled again. */
#ifndef AHBM_TL_BATCH_H
#define AHBM_TL_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "prog/command.h"

struct tl_batch {
    struct command *commands; /* grows on demand up to `limit` */
    uint32_t limit;
    uint32_t capacity;
    uint32_t count;
    uint32_t taken;
};

static inline bool tl_batch_empty(const struct tl_batch *batch)
{
    return batch->taken == batch->count;
}

static inline bool tl_batch_full(const struct tl_batch *batch)
{
    return batch->count == batch->limit;
}

void tl_batch_init(struct tl_batch *batch, uint32_t limit);
void tl_batch_fini(struct tl_batch *batch);

/* Bytes of memory that a batch takes which has held `count` commands. */
uint64_t tl_batch_memory(uint64_t count);

/* Copies `command` in; the batch must not be full. */
void tl_batch_put(struct tl_batch *batch, const struct command *command);

/* The oldest command, valid until the next put; the batch must not be empty. */
const struct command *tl_batch_take(struct tl_batch *batch);

/* Makes room again; the batch must be empty. */
void tl_batch_restart(struct tl_batch *batch);

#endif
