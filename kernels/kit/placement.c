#include <ahbm/kit/placement.h>

uint32_t kit_placement_ranks(const struct tl_launch *launch)
{
    return (launch->cube_sp ? launch->group_cubes : 1) * (launch->pe_sp ? launch->pes : 1);
}

uint32_t kit_placement_rank(const struct tl_launch *launch, uint32_t cube, uint32_t pe)
{
    if (!launch->cube_sp)
        return launch->pe_sp ? pe : 0;
    return launch->pe_sp ? launch->pes * cube + pe : cube;
}

/* Steps from the rank of token 0 to `rank`. */
static uint32_t offset(uint32_t ranks, uint32_t rank, uint32_t start)
{
    return (rank + (ranks - start % ranks)) % ranks;
}

uint64_t kit_placement_tokens(uint64_t context, uint32_t ranks, uint32_t rank, uint32_t start)
{
    return context / ranks + (offset(ranks, rank, start) < context % ranks);
}

uint64_t kit_placement_token(uint32_t ranks, uint32_t rank, uint32_t start, uint64_t slot)
{
    return slot * ranks + offset(ranks, rank, start);
}

bool kit_placement_cube_works(const struct tl_launch *launch, uint32_t cube, uint32_t request)
{
    return launch->cube_sp || request % launch->group_cubes == cube;
}

uint32_t kit_placement_worker(const struct tl_launch *launch, uint32_t request)
{
    if (launch->one_pe)
        return 0;
    return (launch->cube_sp ? request : request / launch->group_cubes) % launch->pes;
}

bool kit_placement_pe_works(const struct tl_launch *launch, uint32_t cube, uint32_t pe,
                            uint32_t request)
{
    return kit_placement_cube_works(launch, cube, request) &&
           (launch->pe_sp || kit_placement_worker(launch, request) == pe);
}
