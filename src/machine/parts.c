#include "machine/part.h"

/* The list: X(part), of which the folder parts/ has the definition NAME_part. */
#define MACHINE_PARTS(X)                                                                           \
    X(system)                                                                                      \
    X(cpu)                                                                                         \
    X(scheduler)                                                                                   \
    X(dma)                                                                                         \
    X(hbm)                                                                                         \
    X(gemm)                                                                                        \
    X(math)                                                                                        \
    X(scratch)                                                                                     \
    X(ipcq)                                                                                        \
    X(network)                                                                                     \
    X(launch)

#define X(name) extern const struct part name##_part;
MACHINE_PARTS(X)
#undef X

#define X(name) &name##_part,
static const struct part *const parts[] = {MACHINE_PARTS(X) NULL};
#undef X

const struct part *const *machine_parts(void)
{
    return parts;
}

const struct key_row *machine_key(size_t index)
{
    for (const struct part *const *part = parts; *part != NULL; part++) {
        if (index < (*part)->keys_count)
            return &(*part)->keys[index];
        index -= (*part)->keys_count;
    }
    return NULL;
}

const struct column *machine_column(size_t index)
{
    for (const struct part *const *part = parts; *part != NULL; part++) {
        if (index < (*part)->columns_count)
            return &(*part)->columns[index];
        index -= (*part)->columns_count;
    }
    return NULL;
}

bool machine_check(const struct machine_params *params, struct key_clash *clash)
{
    for (const struct part *const *part = parts; *part != NULL; part++)
        if ((*part)->check != NULL && !(*part)->check(params, clash))
            return false;
    return true;
}
