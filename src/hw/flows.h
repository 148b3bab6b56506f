/* Which links between CUBEs a launch uses, and for how many packets: known from the scout. */
#ifndef AHBM_HW_FLOWS_H
#define AHBM_HW_FLOWS_H

#include "hw/params.h"
#include "prog/program.h"

/* Outgoing links of a CUBE: the four of the CUBE mesh, then the four of the IO die. */
enum { FLOW_LINKS = 2 * DIRECTIONS };

/* Runs the scout of `program`, which is PE `pe` of CUBE `cube`, to its end and adds the packets
 * that its commands send over each link on their way to `links` [cube][FLOW_LINKS] of the whole
 * machine. Returns how many of its commands make something leave the CUBE. */
uint64_t flows_add(const struct hw_params *params, uint32_t cube, struct program *program,
                   uint64_t *links);

/* The CUBE at the other end of a link; false: there is none. */
bool flows_neighbour(const struct geometry *geometry, uint32_t cube, uint32_t link,
                     uint32_t *neighbour);

#endif
