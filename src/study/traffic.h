/* Tells the engine which CUBEs send to which other: what the scouts of all programs find. */
#ifndef AHBM_STUDY_TRAFFIC_H
#define AHBM_STUDY_TRAFFIC_H

#include "study/point.h"

/* The program of a PE of CUBE `cube`, which is `within` its group. The caller destroys it. */
struct program *traffic_program(const struct problem *problem, const struct study_options *options,
                                uint32_t group, uint32_t within, uint32_t cube, uint32_t pe);

/* Puts CUBEs that reach each other into one group of the engine, and with null messages declares
 * every flow; fills point->emissions. Each PE's program is recorded once more for that. Collective.
 */
void traffic_tell(struct point *point, const struct study_options *options);

#endif
