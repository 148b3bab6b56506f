#include "kernels/registry.h"

#include <string.h>

#include "kernels/collective/collective.h"
#include "kernels/decode/decode.h"
#include "kernels/decode/decode_fanout.h"
#include "kernels/decode/decode_layout.h"
#include "kernels/decode/decode_pipelined.h"
#include "kernels/options.h"
#include "kernels/prefill/prefill.h"
#include "kernels/prefill/prefill_fanout.h"
#include "kernels/prefill/prefill_layout.h"

#define DECODE .abi = TL_KERNEL_ABI, .phase = TL_PHASE_DECODE
#define STORES_EVERYWHERE .layout = decode_layout_root
#define ALL_PES (TL_PLACE_FIXED | TL_PLACE_CUBE_SP | TL_PLACE_PE_SP)
#define COLLECTIVE DECODE, .placement = ALL_PES, .collective = true
#define PREFILL .abi = TL_KERNEL_ABI, .phase = TL_PHASE_PREFILL

static const struct tl_kernel_info entries[] = {
    {DECODE, .name = "decode", .summary = "long-context decode, cases 1-4", .run = kernel_decode,
     .options = options_of_decode},
    {DECODE, .name = "decode-one-pe", .summary = "decode without SP: one PE of one CUBE",
     .run = kernel_decode_one_pe, .options = options_of_decode,
     .placement = TL_PLACE_FIXED | TL_PLACE_ONE_PE, .group_cubes = 1},
    {DECODE, .name = "decode-pipelined",
     .summary = "decode of a batch: a request's reduction hides behind the next one's sweep",
     .run = kernel_decode_pipelined, .options = options_of_decode_pipelined},
    {PREFILL, .name = "prefill", .summary = "long-context prefill, cases 1-4 (1 and 4: Ring KV)",
     .run = kernel_prefill, .options = options_of_prefill},
    {PREFILL, .name = "prefill-rotate",
     .summary = "prefill whose ring rotates once per set of query blocks, nothing in HBM",
     .run = kernel_prefill_rotate, .options = options_of_prefill, .choose = prefill_rotate_choose},
    {PREFILL, .name = "prefill-one-pe", .summary = "prefill without SP: one PE of one CUBE",
     .run = kernel_prefill_one_pe, .options = options_of_prefill,
     .placement = TL_PLACE_FIXED | TL_PLACE_ONE_PE, .group_cubes = 1},
    {DECODE, .name = "decode-fanout",
     .summary = "baseline: all-to-all fan-out of (m, l, O) in N - 1 steps",
     .run = kernel_decode_fanout, .options = options_of_decode_fanout, STORES_EVERYWHERE,
     .placement = ALL_PES},
    {DECODE, .name = "decode-mha",
     .summary = "baseline: a KV head for each query head, nothing folded, cases 1-4",
     .run = kernel_decode, .options = options_of_decode, .heads_apart = true},
    {PREFILL, .name = "prefill-fanout",
     .summary = "baseline: bidirectional K/V fan-out, no overlap, no causal skip",
     .run = kernel_prefill_fanout, .options = options_of_prefill_fanout, .placement = ALL_PES,
     .choose = prefill_fanout_choose, .check = prefill_fanout_check},
    {DECODE, .name = "panel-single-decode",
     .summary = "short context, one user: a KV head per CUBE, chain over its PEs",
     .run = kernel_decode, .options = options_of_decode,
     .placement = TL_PLACE_FIXED | TL_PLACE_PE_SP, .group_cubes = 1},
    {DECODE, .name = "panel-multi-decode",
     .summary = "short context, 8 users: chain in the CUBE, then reduce over 8 CUBEs",
     .run = kernel_decode, .options = options_of_decode, .placement = ALL_PES, .group_cubes = 8,
     .batch = 8},
    {PREFILL, .name = "panel-single-prefill",
     .summary = "short context, one user: a KV head per CUBE, query positions over its PEs",
     .run = kernel_prefill, .options = options_of_prefill, .placement = TL_PLACE_FIXED,
     .group_cubes = 1},
    {PREFILL, .name = "panel-multi-prefill",
     .summary = "short context, 8 users: Ring KV over 8 CUBEs, a query head each",
     .run = kernel_prefill, .options = options_of_prefill, .placement = ALL_PES, .group_cubes = 8,
     .batch = 8},
    {COLLECTIVE, .name = "reduce", .summary = "reduce to the root, PEs then CUBEs",
     .run = kernel_reduce, .options = options_of_reduce},
    {COLLECTIVE, .name = "allreduce", .summary = "reduce to the root and broadcast the same way",
     .run = kernel_allreduce, .options = options_of_reduce, STORES_EVERYWHERE},
    {COLLECTIVE, .name = "allreduce-ring",
     .summary = "all-reduce as a ring over the CUBEs, between reduce and broadcast over PEs",
     .run = kernel_allreduce_ring, .options = options_of_allreduce_ring, STORES_EVERYWHERE},
    {COLLECTIVE, .name = "allreduce-hierarchical",
     .summary = "all-reduce as rings over PEs, CUBEs and SIPs, each PE with its own part",
     .run = kernel_allreduce_hierarchical, .options = options_of_allreduce_hierarchical,
     STORES_EVERYWHERE},
    {0},
};

static const char *const panels[] = {"panel-single-prefill", "panel-single-decode",
                                     "panel-multi-prefill", "panel-multi-decode", NULL};

static const struct kernel_set sets[] = {
    {"panels", "the four panels, one after another", panels},
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

const struct kernel_set *kernel_sets(void)
{
    return sets;
}

/* What a kernel of a phase does that says nothing of its own. */
static const struct {
    const char *name;
    tl_choose *choose;
    tl_check *check;
    tl_layout *layout;
} phases[] = {
    [TL_PHASE_DECODE] = {"decode", decode_choose, NULL, decode_layout},
    [TL_PHASE_PREFILL] = {"prefill", prefill_choose, prefill_check, prefill_layout},
};

bool kernel_has_phase(const struct tl_kernel_info *kernel)
{
    return (size_t)kernel->phase < sizeof phases / sizeof *phases;
}

const char *kernel_phase(const struct tl_kernel_info *kernel)
{
    return phases[kernel->phase].name;
}

void kernel_choose(const struct tl_kernel_info *kernel, struct tl_launch *launch)
{
    (kernel->choose != NULL ? kernel->choose : phases[kernel->phase].choose)(launch);
}

bool kernel_check(const struct tl_kernel_info *kernel, const struct tl_launch *launch, char *why,
                  size_t size)
{
    tl_check *check = kernel->check != NULL ? kernel->check : phases[kernel->phase].check;
    return check == NULL || check(launch, why, size);
}

void kernel_layout(const struct tl_kernel_info *kernel, const struct tl_launch *launch,
                   struct tl_visitor *visitor)
{
    (kernel->layout != NULL ? kernel->layout : phases[kernel->phase].layout)(launch, visitor);
}
