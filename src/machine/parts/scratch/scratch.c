#include "machine/machine.h"

uint64_t scratch_move_ps(const struct machine_params *params, uint64_t bytes)
{
    return rate_duration(params->scratch.rate, bytes);
}

/* clang-format off */
static const struct key_row keys[] = {
    {"scratch.capacity_bytes", KEY_COUNT, KEY_AT(scratch.bytes), "4096", "4294967296", "1048576",
     "scratch memory (TCM) of a PE, in bytes", "seed: 1 MiB"},
    {"scratch.bandwidth_gbps", KEY_GBPS, KEY_AT(scratch.rate), "1", "1000000", "512",
     "bandwidth of a port of the scratch memory, in 1e9 bytes/s",
     "assumption: 128 f32 lanes at 1 GHz"},
};
/* clang-format on */

const struct part scratch_part = {.name = "scratch", PART_ROWS(keys, keys)};
