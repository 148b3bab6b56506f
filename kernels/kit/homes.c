#include <ahbm/kit/homes.h>

enum { ADDRESS_ALIGN = 4096, ELEMENT_BYTES = 2 /* bf16 */ };

static uint64_t up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

static uint64_t align(uint64_t bytes)
{
    return up(bytes, ADDRESS_ALIGN);
}

/* K and V of each request, up to `bytes` each, from `first` of the share on. */
static void place_in_share(struct tl_launch *launch, uint64_t first, uint64_t bytes)
{
    launch->k_base = first;
    launch->kv_stride = align(bytes);
    launch->v_base = launch->k_base + launch->batch * launch->kv_stride;
    launch->s_base = launch->v_base + launch->batch * launch->kv_stride;
}

/* The same in the stack: a region per request and PE, each one share further than the one before.
 */
static void place_in_stack(struct tl_launch *launch, uint64_t first, uint64_t bytes)
{
    uint64_t unit = launch->stripe_bytes, row = unit * launch->pes;
    uint64_t regions = (uint64_t)launch->batch * launch->pes;
    launch->k_base = up(first, unit) * launch->pes;
    launch->kv_stride = up(bytes, row) + unit;
    launch->v_base = launch->k_base + regions * launch->kv_stride;
    launch->s_base = align((launch->v_base + regions * launch->kv_stride) / launch->pes);
}

void kit_homes_choose(struct tl_launch *launch, uint64_t rows, uint64_t tokens)
{
    uint64_t row_bytes = (uint64_t)launch->head_dim * ELEMENT_BYTES;
    launch->q_base = 0;
    launch->q_stride = align(rows * row_bytes);
    launch->o_base = launch->q_base + launch->batch * launch->q_stride;
    launch->o_stride = launch->q_stride;
    uint64_t first = launch->o_base + launch->batch * launch->o_stride;
    if (launch->kv_stack)
        place_in_stack(launch, first, tokens * row_bytes);
    else
        place_in_share(launch, first, tokens * row_bytes);
}

uint64_t kit_homes_kv(const struct tl_launch *launch, uint64_t base, uint32_t pe, uint32_t request)
{
    uint64_t region = launch->kv_stack ? (uint64_t)request * launch->pes + pe : request;
    return base + region * launch->kv_stride;
}

struct tl_tensor kit_homes_ref(struct tl *tl, const struct tl_launch *launch, uint32_t pe,
                               uint64_t addr, uint32_t rows, uint32_t cols)
{
    return launch->kv_stack ? tl_ref_stack(tl, addr, rows, cols, TL_BF16)
                            : tl_ref(tl, pe, addr, rows, cols, TL_BF16);
}

void kit_homes_choose_message(struct tl_launch *launch)
{
    launch->q_base = 0;
    launch->q_stride = launch->o_stride = align(launch->message);
    launch->o_base = launch->q_stride;
}
