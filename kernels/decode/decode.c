#include "kernels/decode/decode.h"

#include "kernels/decode/decode_request.h"
#include <ahbm/kit/placement.h>

static void run_request(struct tl *tl, const struct tl_launch *launch, uint32_t request)
{
    TL_SCRATCH_SCOPE(tl)
    {
        struct kit_state state = decode_sweep(tl, launch, request, launch->pe);
        if (decode_reduce(tl, launch, &state))
            decode_store(tl, launch, request, &state);
    }
}

/* What a PE without the request does when idle PEs are redundant: the worker's sweep over the
 * worker's KV, for nothing. */
static void shadow_request(struct tl *tl, const struct tl_launch *launch, uint32_t request)
{
    TL_SCRATCH_SCOPE(tl)
    {
        decode_sweep(tl, launch, request, kit_placement_worker(launch, request));
    }
}

void kernel_decode(struct tl *tl, const struct tl_launch *launch)
{
    decode_check(tl, launch);
    decode_check_reduction(tl, launch);
    for (uint32_t request = 0; request < launch->batch; request++) {
        if (kit_placement_pe_works(launch, launch->cube, launch->pe, request))
            run_request(tl, launch, request);
        else if (launch->tp_redundant && kit_placement_cube_works(launch, launch->cube, request))
            shadow_request(tl, launch, request);
    }
}

void kernel_decode_one_pe(struct tl *tl, const struct tl_launch *launch)
{
    if (!launch->one_pe || launch->group_cubes != 1)
        tl_fail(tl, "this kernel does everything on PE 0 of a group of one CUBE");
    kernel_decode(tl, launch);
}
