#ifndef AHBM_MACHINE_MATH_STATE_H
#define AHBM_MACHINE_MATH_STATE_H

#include "machine/parts/math/math.h"
#include "machine/server.h"

struct math {
    struct server server;
    uint64_t last; /* number of the last command it served */
};

#endif
