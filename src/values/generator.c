#include "values/generator.h"

#include "support/bf16.h"
#include "support/memory.h"

struct generator {
    struct value_source base;
    uint64_t seed;
};

#define STEP UINT64_C(0x9e3779b97f4a7c15)

/* The finalizer of splitmix64: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t absorb(uint64_t key, uint64_t word)
{
    return mix(mix(key + STEP) + word);
}

/* The sum of four 16-bit fields less its mean, over its standard deviation 2^16 / sqrt(3). */
static uint16_t element(uint64_t hash)
{
    int32_t sum = (int32_t)(hash & 0xffff) + (int32_t)(hash >> 16 & 0xffff) +
                  (int32_t)(hash >> 32 & 0xffff) + (int32_t)(hash >> 48);
    return bf16_of_f32((float)(sum - 0x1fffe) * 2.6428759e-05f);
}

static bool rows(struct value_source *source, enum value_tensor tensor, struct value_row first,
                 uint64_t step, uint64_t count, uint16_t *out, struct error *err)
{
    (void)err;
    const struct generator *generator = (const struct generator *)source;
    uint64_t key = absorb(generator->seed, tensor);
    key = absorb(key, (uint64_t)first.request << 32 | first.head);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t row = absorb(key, first.token + i * step);
        for (uint32_t dim = 0; dim < source->dim; dim++)
            *out++ = element(mix(row + dim * STEP));
    }
    return true;
}

static void destroy(struct value_source *source)
{
    memory_free(source);
}

struct value_source *generator_new(uint64_t seed, uint32_t dim)
{
    static const struct value_source_ops ops = {rows, destroy};
    struct generator *generator = memory_new(1, sizeof *generator);
    generator->base = (struct value_source){&ops, dim};
    generator->seed = seed;
    return &generator->base;
}
