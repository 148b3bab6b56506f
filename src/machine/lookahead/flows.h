/* Which links between CUBEs a launch uses, and for how many packets: known from the scout. */
#ifndef AHBM_MACHINE_FLOWS_H
#define AHBM_MACHINE_FLOWS_H

#include "machine/params.h"
#include "prog/program.h"

/* Runs the scout of `program`, which is PE `pe` of CUBE `cube`, to its end and adds the packets
 * that its commands send over each link on their way to `links` [cube][CUBE_LINKS] of the whole
 * machine. Returns how many of its commands make something leave the CUBE. */
uint64_t flows_add(const struct machine_params *params, uint32_t cube, struct program *program,
                   uint64_t *links);

/* The CUBE at the other end of a link; false: there is none. */
bool flows_neighbour(const struct geometry *geometry, uint32_t cube, uint32_t link,
                     uint32_t *neighbour);

#endif
