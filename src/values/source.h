/* Where the elements of Q, K and V come from: a generator, or tensors that a user gave. */
#ifndef AHBM_VALUES_SOURCE_H
#define AHBM_VALUES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/error.h"

enum value_tensor { VALUE_Q, VALUE_K, VALUE_V, VALUE_O };

/* One row of a tensor: `dim` elements. `request` counts over all batches of the launch; `head` is a
 * query head of Q and O, a KV head of K and V; `token` a position in the query or in the context.
 */
struct value_row {
    uint32_t request;
    uint32_t head;
    uint64_t token;
};

struct value_source;

struct value_source_ops {
    /* bf16 elements [count][dim] of the rows first, first + step tokens, ... The same whoever asks,
     * in whatever order. False with `err` (ERROR_FAILED) when they cannot be had. */
    bool (*rows)(struct value_source *source, enum value_tensor tensor, struct value_row first,
                 uint64_t step, uint64_t count, uint16_t *out, struct error *err);
    void (*destroy)(struct value_source *source);
};

/* The implementation's struct begins with it. */
struct value_source {
    const struct value_source_ops *ops;
    uint32_t dim; /* elements of a row */
};

static inline bool value_source_rows(struct value_source *source, enum value_tensor tensor,
                                     struct value_row first, uint64_t step, uint64_t count,
                                     uint16_t *out, struct error *err)
{
    return source->ops->rows(source, tensor, first, step, count, out, err);
}

/* NULL is allowed. */
static inline void value_source_free(struct value_source *source)
{
    if (source != NULL)
        source->ops->destroy(source);
}

#endif
