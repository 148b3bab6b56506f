#include "kernels/decode/decode_fanout.h"

#include "kernels/decode/decode_request.h"
#include <ahbm/kit/ring.h>

static struct kit_state new_like(struct tl *tl, const struct kit_state *state)
{
    return kit_state_new(tl, state->o.rows, state->o.cols, state->packed);
}

static void copy(struct tl *tl, const struct kit_state *to, const struct kit_state *from)
{
    tl_maximum_to(tl, to->whole, from->whole, from->whole);
}

/* The partials of half of the others come along from one side, each passed on unmerged. */
static void take(struct tl *tl, const struct kit_state *sum, const struct kit_state *partial,
                 enum tl_queue from, enum tl_queue on, bool last)
{
    kit_state_receive(tl, from, partial);
    if (!last)
        kit_state_send(tl, on, partial);
    TL_SCRATCH_SCOPE(tl)
    {
        struct kit_state spare = new_like(tl, partial); /* the partial may still be on its way */
        copy(tl, &spare, partial);
        kit_state_absorb(tl, sum, &spare);
    }
}

static void fan_out(struct tl *tl, const struct kit_ring *ring, struct kit_state *state)
{
    if (ring->size == 1)
        return;
    uint32_t others = ring->size - 1, steps[2] = {(others + 1) / 2, others / 2};
    TL_SCRATCH_SCOPE(tl)
    {
        struct kit_state own = new_like(tl, state), partials[2][2];
        for (int i = 0; i < 4; i++)
            partials[i / 2][i % 2] = new_like(tl, state);
        copy(tl, &own, state);
        kit_state_send(tl, ring->next, &own);
        if (steps[1] > 0)
            kit_state_send(tl, ring->previous, &own);
        for (uint32_t step = 1; step <= steps[0]; step++) {
            take(tl, state, &partials[0][step % 2], ring->previous, ring->next, step == steps[0]);
            if (step <= steps[1])
                take(tl, state, &partials[1][step % 2], ring->next, ring->previous,
                     step == steps[1]);
        }
    }
}

void kernel_decode_fanout(struct tl *tl, const struct tl_launch *launch)
{
    decode_check(tl, launch);
    if (!launch->cube_sp || !launch->pe_sp)
        tl_fail(tl, "this kernel needs keys that are split over all PEs of the group");
    struct kit_ring pes = kit_ring_of(tl, launch, TL_AXIS_PE),
                    cubes = kit_ring_of(tl, launch, TL_AXIS_CUBE);
    for (uint32_t request = 0; request < launch->batch; request++)
        TL_SCRATCH_SCOPE(tl)
        {
            struct kit_state state = decode_sweep(tl, launch, request, launch->pe);
            fan_out(tl, &pes, &state);
            fan_out(tl, &cubes, &state);
            decode_store(tl, launch, request, &state);
        }
}
