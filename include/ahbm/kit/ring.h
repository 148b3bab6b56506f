/* A level's Hamiltonian cycle of neighbours, in which blocks rotate. */
#ifndef AHBM_KIT_RING_H
#define AHBM_KIT_RING_H

#include <ahbm/tl.h>

struct kit_ring {
    enum tl_axis axis;
    uint32_t size;
    uint32_t columns, rows;
    uint32_t place; /* of this PE (CUBE) on the cycle */
    enum tl_queue next, previous;
};

/* Ends the recording when the grid has no such cycle: an odd number of places, or a row of more
 * than two without a wrap link. */
struct kit_ring kit_ring_of(struct tl *tl, const struct tl_launch *launch, enum tl_axis axis);

/* The PE (CUBE) whose block is here after `steps` < size rotations. */
uint32_t kit_ring_source(struct tl *tl, const struct kit_ring *ring, uint32_t steps);

#endif
