#include "machine/part.h"

extern const struct part system_part, cpu_part, scheduler_part, dma_part, hbm_part, gemm_part,
    math_part, scratch_part, ipcq_part, network_part, launch_part;

static const struct part *const parts[] = {
    &system_part, &cpu_part,     &scheduler_part, &dma_part,     &hbm_part,    &gemm_part,
    &math_part,   &scratch_part, &ipcq_part,      &network_part, &launch_part, NULL,
};

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

bool machine_check(const struct hw_params *params, struct key_clash *clash)
{
    for (const struct part *const *part = parts; *part != NULL; part++)
        if ((*part)->check != NULL && !(*part)->check(params, clash))
            return false;
    return true;
}
