#include "kernels/options.h"

#include "kernels/prefill/prefill_plan.h"

/* What the attention of a decode looks at, whatever becomes of its (m, l, O). */
enum {
    DECODE_SWEEP = TL_OPTION_CONTEXT | TL_OPTION_REQUESTS | TL_OPTION_BATCH | TL_OPTION_QUERY_LEN |
                   TL_OPTION_TILE | TL_OPTION_FORM | TL_OPTION_GEMM | TL_OPTION_KV_LAYOUT
};

/* That of a prefill; it looks at form and GEMM to refuse what it does not have. */
enum {
    PREFILL_SWEEP = TL_OPTION_CONTEXT | TL_OPTION_BATCH | TL_OPTION_QUERY_LEN | TL_OPTION_TILE |
                    TL_OPTION_FORM | TL_OPTION_GEMM | TL_OPTION_KV_LAYOUT
};

static uint32_t if_several(uint32_t places, uint32_t options)
{
    return places > 1 ? options : 0;
}

/* Reductions over the levels that the keys are split over. */
static uint32_t reductions(const struct tl_launch *launch)
{
    uint32_t pes = launch->pe_sp ? launch->pes : 1,
             cubes = launch->cube_sp ? launch->group_cubes : 1;
    return if_several(pes, TL_OPTION_REDUCE_PE | TL_OPTION_MLO) |
           if_several(cubes, TL_OPTION_REDUCE_CUBE | TL_OPTION_MLO);
}

uint32_t options_of_decode_pipelined(const struct tl_launch *launch)
{
    return DECODE_SWEEP | reductions(launch);
}

uint32_t options_of_decode(const struct tl_launch *launch)
{
    uint32_t idle = launch->pe_sp ? 0 : if_several(launch->pes, TL_OPTION_TP_IDLE);
    return options_of_decode_pipelined(launch) | idle;
}

uint32_t options_of_decode_fanout(const struct tl_launch *launch)
{
    return DECODE_SWEEP | if_several(launch->group_cubes * launch->pes, TL_OPTION_MLO);
}

/* The ends of a prefill: the PEs reduce what they swept of the keys. */
static uint32_t prefill_reduction(const struct tl_launch *launch)
{
    return launch->pe_sp ? if_several(launch->pes, TL_OPTION_REDUCE_PE | TL_OPTION_MLO) : 0;
}

uint32_t options_of_prefill(const struct tl_launch *launch)
{
    bool dealt = !launch->pe_sp && !launch->one_pe; /* the query positions, to the PEs */
    return PREFILL_SWEEP | prefill_reduction(launch) |
           (dealt ? if_several(launch->pes, TL_OPTION_SHARDS) : 0) |
           (prefill_is_ring(launch) ? TL_OPTION_RING_DEPTH : 0);
}

uint32_t options_of_prefill_fanout(const struct tl_launch *launch)
{
    return PREFILL_SWEEP | prefill_reduction(launch);
}

/* A message is a vector per PE and nothing else; (m, l, O) always travel separately here. */
static uint32_t payload(const struct tl_launch *launch)
{
    return launch->message > 0 ? TL_OPTION_MESSAGE : DECODE_SWEEP;
}

uint32_t options_of_allreduce_hierarchical(const struct tl_launch *launch)
{
    return payload(launch);
}

uint32_t options_of_allreduce_ring(const struct tl_launch *launch)
{
    return payload(launch) | if_several(launch->pes, TL_OPTION_REDUCE_PE);
}

uint32_t options_of_reduce(const struct tl_launch *launch)
{
    return options_of_allreduce_ring(launch) |
           if_several(launch->group_cubes, TL_OPTION_REDUCE_CUBE);
}
