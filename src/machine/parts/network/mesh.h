/* The PE mesh with cut-through: routers with virtual channels and finite buffers. Internal to the
 * network. */
#ifndef AHBM_MACHINE_MESH_H
#define AHBM_MACHINE_MESH_H

#include "machine/message.h"

struct cube;
struct pe;
struct machine_params;

/* A packet (of a PE_ROUTE) enters the mesh at the router that handles the event. */
void mesh_inject(struct lp *lp, const struct event *event);

/* For the part's description. */
void mesh_init(struct cube *cube, uint32_t pe);
void mesh_fini(struct pe *pe);
uint64_t mesh_memory(const struct machine_params *params);

#endif
