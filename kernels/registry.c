#include "kernels/registry.h"

#include <string.h>

#include "kernels/decode.h"
#include "kernels/prefill.h"

#define DECODE .abi = TL_KERNEL_ABI, .phase = TL_PHASE_DECODE
#define PREFILL .abi = TL_KERNEL_ABI, .phase = TL_PHASE_PREFILL

static const struct tl_kernel_info entries[] = {
    {DECODE, .name = "decode", .summary = "long-context decode, cases 1-4", .run = kernel_decode},
    {DECODE, .name = "decode-one-pe", .summary = "decode without SP: one PE of one CUBE",
     .run = kernel_decode_one_pe, .placement = TL_PLACE_FIXED | TL_PLACE_ONE_PE, .group_cubes = 1},
    {PREFILL, .name = "prefill", .summary = "long-context prefill, cases 1-4 (1 and 4: Ring KV)",
     .run = kernel_prefill},
    {PREFILL, .name = "prefill-rotate",
     .summary = "prefill whose ring rotates once per set of query blocks, nothing in HBM",
     .run = kernel_prefill_rotate},
    {PREFILL, .name = "prefill-one-pe", .summary = "prefill without SP: one PE of one CUBE",
     .run = kernel_prefill_one_pe, .placement = TL_PLACE_FIXED | TL_PLACE_ONE_PE, .group_cubes = 1},
    {0},
};

const struct tl_kernel_info *kernel_list(void)
{
    return entries;
}

const struct tl_kernel_info *kernel_find(const char *name)
{
    for (const struct tl_kernel_info *entry = entries; entry->name != NULL; entry++)
        if (strcmp(entry->name, name) == 0)
            return entry;
    return NULL;
}
