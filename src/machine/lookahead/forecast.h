/* The earliest times at which a CUBE's CPUs get on with their programs. Internal to this folder;
 * all of it holds only if the CUBE receives nothing more. */
#ifndef AHBM_MACHINE_FORECAST_H
#define AHBM_MACHINE_FORECAST_H

#include "machine/lookahead/state.h"
#include "machine/message.h"

#define FORECAST_UNKNOWN (TIME_NEVER - 1)

struct forecast {
    const struct cube *cube;
    struct lookahead *lookahead; /* the CUBE's */
    uint64_t now;                /* of the CUBE's first pending event; nothing happens before */
    uint64_t free_at[MACHINE_PES_MAX]; /* of each CPU, FORECAST_UNKNOWN until somebody asked */
};

/* The end of the issue of an emission's command: the latest of several lower bounds; TIME_NEVER:
 * not without a message or credit that has not been sent yet. `depth`: so many PEs that wait for
 * each other's messages are looked at. */
uint64_t forecast_emission(struct forecast *forecast, uint32_t pe, const struct emission *emission,
                           uint32_t depth);

/* When the credit is here that lets fragment `number` leave through a queue to another CUBE, as
 * inbound_time(). */
uint64_t forecast_credit(const struct lookahead *lookahead, uint32_t pe, uint32_t queue,
                         uint64_t number);

#endif
