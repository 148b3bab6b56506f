#include "kernels/decode/decode_fanout.h"

#include "kernels/decode/decode_request.h"
#include "kernels/kit/ring.h"

static struct state new_like(struct tl *tl, const struct state *state)
{
    return state_new(tl, state->o.rows, state->o.cols, state->packed);
}

static void copy(struct tl *tl, const struct state *to, const struct state *from)
{
    tl_maximum_to(tl, to->whole, from->whole, from->whole);
}

/* The partials of half of the others come along from one side, each passed on unmerged. */
static void take(struct tl *tl, const struct state *sum, const struct state *partial,
                 enum tl_queue from, enum tl_queue on, bool last)
{
    state_receive(tl, from, partial);
    if (!last)
        state_send(tl, on, partial);
    TL_SCRATCH_SCOPE(tl)
    {
        struct state spare = new_like(tl, partial); /* the partial may still be on its way */
        copy(tl, &spare, partial);
        state_absorb(tl, sum, &spare);
    }
}

static void fan_out(struct tl *tl, const struct ring *ring, struct state *state)
{
    if (ring->size == 1)
        return;
    uint32_t others = ring->size - 1, steps[2] = {(others + 1) / 2, others / 2};
    TL_SCRATCH_SCOPE(tl)
    {
        struct state own = new_like(tl, state), partials[2][2];
        for (int i = 0; i < 4; i++)
            partials[i / 2][i % 2] = new_like(tl, state);
        copy(tl, &own, state);
        state_send(tl, ring->next, &own);
        if (steps[1] > 0)
            state_send(tl, ring->previous, &own);
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
    struct ring pes = ring_of(tl, launch, TL_AXIS_PE), cubes = ring_of(tl, launch, TL_AXIS_CUBE);
    for (uint32_t request = 0; request < launch->batch; request++)
        TL_SCRATCH_SCOPE(tl)
        {
            struct state state = decode_sweep(tl, launch, request, launch->pe);
            fan_out(tl, &pes, &state);
            fan_out(tl, &cubes, &state);
            decode_store(tl, launch, request, &state);
        }
}
