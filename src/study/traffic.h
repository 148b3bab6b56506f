/* Tells the engine which CUBEs send to which other: what the scouts of all programs find. */
#ifndef AHBM_STUDY_TRAFFIC_H
#define AHBM_STUDY_TRAFFIC_H

#include "study/point.h"
#include "tl/record.h"

/* What a PE of CUBE `cube`, which is `within` its group, runs; and the program of it, which the
 * caller destroys. */
struct tl_program_config traffic_config(const struct problem *problem,
                                        const struct study_options *options, uint32_t group,
                                        uint32_t within, uint32_t cube, uint32_t pe);
struct program *traffic_program(const struct problem *problem, const struct study_options *options,
                                uint32_t group, uint32_t within, uint32_t cube, uint32_t pe);

/* Puts CUBEs that reach each other into one group of the engine and fills point->emissions. Each
 * PE's program is recorded once more for that. Collective. */
void traffic_tell(struct point *point, const struct study_options *options);

#endif
