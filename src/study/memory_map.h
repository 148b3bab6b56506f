/* Where a launch's tensors lie in each PE's HBM share, and how much of it they fill. */
#ifndef AHBM_STUDY_MEMORY_MAP_H
#define AHBM_STUDY_MEMORY_MAP_H

#include <ahbm/launch.h>

#include "results/results.h"

/* Sets the addresses of a launch whose other fields are set: the same in every PE's share, large
 * enough for the largest shard. */
void memory_map_place(struct tl_launch *launch);

/* What PE `pe` of CUBE `cube` of the group holds; o_bytes is left 0. */
struct footprint memory_map_footprint(const struct tl_launch *launch, uint32_t cube, uint32_t pe);

#endif
