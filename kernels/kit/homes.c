#include <ahbm/kit/homes.h>

enum { ADDRESS_ALIGN = 4096, ELEMENT_BYTES = 2 /* bf16 */ };

static uint64_t align(uint64_t bytes)
{
    return (bytes + ADDRESS_ALIGN - 1) / ADDRESS_ALIGN * ADDRESS_ALIGN;
}

void kit_homes_choose(struct tl_launch *launch, uint64_t rows, uint64_t tokens)
{
    uint64_t row_bytes = (uint64_t)launch->head_dim * ELEMENT_BYTES;
    launch->q_base = 0;
    launch->q_stride = align(rows * row_bytes);
    launch->o_base = launch->q_base + launch->batch * launch->q_stride;
    launch->o_stride = launch->q_stride;
    launch->k_base = launch->o_base + launch->batch * launch->o_stride;
    launch->kv_stride = align(tokens * row_bytes);
    launch->v_base = launch->k_base + launch->batch * launch->kv_stride;
    launch->s_base = launch->v_base + launch->batch * launch->kv_stride;
}

void kit_homes_choose_message(struct tl_launch *launch)
{
    launch->q_base = 0;
    launch->q_stride = launch->o_stride = align(launch->message);
    launch->o_base = launch->q_stride;
}
