/* Who writes. Collective writes of compressed chunks exchange some 13 rounds of messages each,
 * which takes long among processes that share cores; so neighbouring processes form teams, hand
 * what they have to the first of the team, and only these writers know the file. A team's CUBEs are
 * one block. */
#ifndef AHBM_RESULTS_TEAM_H
#define AHBM_RESULTS_TEAM_H

#include "pdes/transport/comm.h"

struct results_team {
    struct comm all;
    struct comm members; /* of this process's team; the first is its writer */
    struct comm writers; /* only where `writes` */
    bool writes;
    uint32_t first_cube, cubes; /* of the team */
    uint32_t *member_cubes;     /* [members.size], in order */
};

/* `first_cube` and `cubes`: this process's block. Collective over `all`. */
void results_team_form(struct results_team *team, const struct comm *all, uint32_t first_cube,
                       uint32_t cubes);

/* Frees. `together`: the call is collective, and communicators are freed as well. */
void results_team_dismiss(struct results_team *team, bool together);

#endif
