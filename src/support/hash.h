/* Order-dependent 64-bit digest (FNV-1a steps on 64-bit words with a final mix). Not for security:
 * it proves that two runs dispatched the same events. */
#ifndef AHBM_SUPPORT_HASH_H
#define AHBM_SUPPORT_HASH_H

#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_word(uint64_t state, uint64_t word)
{
    state = (state ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return state ^ (state >> 29);
}

static inline uint64_t hash_finish(uint64_t state)
{
    state ^= state >> 33;
    state *= UINT64_C(0xff51afd7ed558ccd);
    state ^= state >> 33;
    return state;
}

#endif
