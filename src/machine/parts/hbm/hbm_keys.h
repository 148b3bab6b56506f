/* The rows of group hbm. Internal to this folder. */
#ifndef AHBM_MACHINE_HBM_KEYS_H
#define AHBM_MACHINE_HBM_KEYS_H

#include "machine/key.h"

enum { HBM_KEYS = 47 };
extern const struct key_row hbm_keys[HBM_KEYS];

#endif
