/* One value of a machine file: its text read by its schema row. */
#ifndef AHBM_CONFIG_VALUE_H
#define AHBM_CONFIG_VALUE_H

#include <stdint.h>

#include "machine/params.h"
#include "config/config_schema.h"
#include "support/units.h"

enum { CONFIG_VALUE_BYTES = 64, CONFIG_ALLOWED_BYTES = 128 };

struct config_value {
    uint64_t count;       /* KEY_CHOICE (0 or 1), KEY_COUNT, KEY_NS (ps), KEY_ENUM, KEY_ORDER */
    struct timing timing; /* KEY_TIMING */
    struct rate rate;     /* KEY_GBPS, KEY_GHZ */
    char text[CONFIG_VALUE_BYTES]; /* canonical: equal values have equal texts */
};

/* Reads `text` as a value of `row`. Returns NULL, or what is wrong with it ("is not a number"). */
const char *config_value_parse(const struct key_row *row, const char *text,
                               struct config_value *value);

/* Puts the value into its field. */
void config_value_store(const struct key_row *row, const struct config_value *value,
                        struct machine_params *params);

/* What the row allows, as in "1 to 256". */
void config_value_allowed(const struct key_row *row, char out[CONFIG_ALLOWED_BYTES]);

#endif
