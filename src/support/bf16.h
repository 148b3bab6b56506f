/* bf16: the upper half of an f32, rounded to nearest even; a NaN becomes the quiet one. */
#ifndef AHBM_SUPPORT_BF16_H
#define AHBM_SUPPORT_BF16_H

#include <stdint.h>
#include <string.h>

static inline float f32_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float f32_of_bf16(uint16_t bits)
{
    return f32_of_bits((uint32_t)bits << 16);
}

static inline uint16_t bf16_of_f32(float value)
{
    uint32_t bits = f32_bits(value);
    uint16_t rounded = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded;
}

#endif
