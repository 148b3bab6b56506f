/* The way of a packet between CUBEs, a function of the geometry. Internal to hw. */
#ifndef AHBM_HW_ROUTE_H
#define AHBM_HW_ROUTE_H

#include "prog/geometry.h"

/* The next CUBE on the dimension-ordered way from `from` to `to` (different), and over which of
 * `from`'s links: the four of the CUBE mesh, then the four of the IO die. */
uint32_t route_next(const struct geometry *geometry, uint32_t from, uint32_t to, uint32_t *link);

/* The CUBE at the other end of a queue between CUBEs or SIPs; false: there is none. */
bool route_peer(const struct geometry *geometry, uint32_t cube, enum queue_id queue,
                uint32_t *peer);

#endif
