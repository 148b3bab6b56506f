/* The way of a packet between CUBEs, a function of the geometry. Internal to the machine. */
#ifndef AHBM_MACHINE_ROUTE_H
#define AHBM_MACHINE_ROUTE_H

#include "prog/geometry.h"

/* The next CUBE on the dimension-ordered way from `from` to `to` (different), and over which of
 * `from`'s links: the four of the CUBE mesh, then the four of the IO die. */
uint32_t route_next(const struct geometry *geometry, uint32_t from, uint32_t to, uint32_t *link);

#endif
