#include "kernels/prefill/prefill_block.h"

#include <ahbm/kit/reduce.h>

enum { BF16_BYTES = 2, F32_BYTES = 4 };

void block_check(struct tl *tl, const struct tl_launch *launch)
{
    if (launch->gemm != TL_GEMM_COMPOSITE)
        tl_fail(tl, "the GEMMs of a prefill are composites: it cannot use dots");
    if (launch->form != TL_FORM_AUTO && launch->form != TL_FORM_TILED)
        tl_fail(tl, "a prefill is tiled and masked: it has no other form");
    if (launch->pe_sp)
        kit_reduce_check(tl, TL_AXIS_PE, launch->reduce_pe);
}

struct block block_at(const struct tl_launch *launch, uint32_t heads, uint32_t request, uint64_t i)
{
    struct block block = {.at = query_block(launch, launch->pe, i)};
    uint64_t before = block.at.before * heads;
    block.token = launch->context - launch->query_len + block.at.first;
    block.rows = heads * block.at.count;
    block.q_addr = launch->q_base + request * launch->q_stride;
    block.q_addr += before * launch->head_dim * BF16_BYTES;
    block.o_addr = launch->o_base + request * launch->o_stride;
    block.o_addr += before * launch->head_dim * BF16_BYTES;
    block.s_addr = launch->s_base + before * (launch->head_dim + UINT64_C(2)) * F32_BYTES;
    return block;
}

struct tl_tensor block_q_home(struct tl *tl, const struct tl_launch *launch,
                              const struct block *block)
{
    return tl_ref(tl, launch->pe, block->q_addr, block->rows, launch->head_dim, TL_BF16);
}

struct tl_tensor block_state_home(struct tl *tl, const struct tl_launch *launch,
                                  const struct block *block)
{
    return tl_ref(tl, launch->pe, block->s_addr, block->rows, launch->head_dim + 2, TL_F32);
}

bool block_sees(const struct block *block, struct key_tile tile)
{
    return tile.width > 0 && tile.first < block->token + block->at.count;
}

bool block_is_cut(const struct block *block, struct key_tile tile)
{
    return tile.first + tile.width - 1 > block->token;
}

static void store_output(struct tl *tl, const struct tl_launch *launch, const struct block *block,
                         const struct kit_state *state)
{
    struct tl_tensor out =
        tl_ref(tl, launch->pe, block->o_addr, block->rows, launch->head_dim, TL_BF16);
    tl_div_to(tl, state->o, state->o, state->l);
    tl_store(tl, out, tl_cast(tl, state->o, TL_BF16));
}

void block_end(struct tl *tl, const struct tl_launch *launch, const struct block *block,
               struct kit_state *state)
{
    TL_SCRATCH_SCOPE(tl)
    {
        if (!launch->pe_sp || kit_reduce_to_root(tl, TL_AXIS_PE, launch->reduce_pe, state))
            store_output(tl, launch, block, state);
    }
}
