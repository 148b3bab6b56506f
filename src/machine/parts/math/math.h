/* The vector unit: an in-order server. A command takes its start-up and one pass per vector of
 * `lanes` elements; an epilogue streams behind the array and has no start-up. */
#ifndef AHBM_MACHINE_MATH_H
#define AHBM_MACHINE_MATH_H

#include <stdint.h>

#include "support/units.h"

struct command;
struct machine_params;

struct math_params {
    struct rate clock;
    uint64_t lanes;
    uint64_t startup_ps;                            /* per command */
    uint64_t simple_cycles, exp_cycles, div_cycles; /* per vector of `lanes` elements */
    uint64_t reduce_tail_cycles;                    /* to fold the lanes of the last vector */
};

/* A bound, for promises: what a command takes at least, from its start. */
uint64_t math_least_ps(const struct machine_params *params, const struct command *command);

#endif
