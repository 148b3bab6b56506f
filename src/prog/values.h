/* What commands compute, as the machine sees it: called when a command, a copy or a drain ends in
 * simulated time, so that a race or a recycled buffer shows as a wrong number. The `values` layer
 * implements it; without one (NULL) only times are simulated. Neither changes the other. */
#ifndef AHBM_PROG_VALUES_H
#define AHBM_PROG_VALUES_H

#include "prog/command.h"

struct value_engine;

struct value_ops {
    /* LOAD, STORE, COMPOSITE, DOT or MATH of PE `pe` has ended: reads its operands, writes `out`.
     */
    void (*complete)(struct value_engine *engine, uint32_t pe, const struct command *command);
    /* Scratch bytes that leave with a message, and that arrive with one. */
    void (*take)(struct value_engine *engine, uint32_t pe, uint64_t addr, void *data,
                 uint32_t bytes);
    void (*put)(struct value_engine *engine, uint32_t pe, uint64_t addr, const void *data,
                uint32_t bytes);
};

/* Of one CUBE; the implementation's struct begins with it. */
struct value_engine {
    const struct value_ops *ops;
};

#endif
