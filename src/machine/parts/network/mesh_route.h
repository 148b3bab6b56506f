/* The way of a packet in the PE mesh, a function of the geometry. Internal to the network. */
#ifndef AHBM_MACHINE_MESH_ROUTE_H
#define AHBM_MACHINE_MESH_ROUTE_H

#include "machine/params.h"
#include "machine/parts/network/mesh_state.h"

/* The output of router `here` on the dimension-ordered way to PE `there`. */
uint32_t mesh_output(const struct geometry *geometry, uint32_t here, uint32_t there);

/* The router and the input at the other end of an output's link. */
uint32_t mesh_far_end(const struct geometry *geometry, uint32_t here, uint32_t output,
                      uint32_t *input);

/* The channels of the next buffer, [*first, *end), that a packet to PE `there` may take which is in
 * `channel` of `input`. On a torus those of the lower half until the wrap link of the ring, of the
 * upper half from it on; a packet that does not cross it stays in the half that it began in. */
void mesh_channels(const struct machine_params *params, uint32_t here, uint32_t input,
                   uint32_t channel, uint32_t output, uint32_t there, uint32_t *first,
                   uint32_t *end);

#endif
