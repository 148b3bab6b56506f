#include "values/number.h"

/* A float multiplied by 2^112 has the exponent of an f16 shifted into place, subnormals included.
 */
float f32_of_f16(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = (uint32_t)(bits & 0x7fff) << 13;
    if (rest >= 0x0f800000) /* infinity and NaN */
        return f32_of_bits(sign | 0x70000000 | rest);
    return f32_of_bits(sign | f32_bits(f32_of_bits(rest) * 0x1p112f));
}

/* Of a value below 2^-14: the subnormals' unit is 2^-24, which adding 2^-1 rounds to. */
static uint16_t subnormal_f16(float value)
{
    return (uint16_t)(f32_bits(value + 0.5f) - f32_bits(0.5f));
}

uint16_t f16_of_f32(float value)
{
    uint32_t bits = f32_bits(value), rest = bits & 0x7fffffff;
    uint32_t sign = bits >> 16 & 0x8000;
    if (rest > 0x7f800000)
        return 0x7e00;
    if (rest >= 0x477ff000) /* rounds to 2^16 or is larger */
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000)
        return (uint16_t)(sign | subnormal_f16(f32_of_bits(rest)));
    return (uint16_t)(sign | (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
}

static void unpack_bf16(const char *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t bits;
        memcpy(&bits, from + 2 * i, sizeof bits);
        to[i] = f32_of_bf16(bits);
    }
}

static void unpack_f16(const char *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t bits;
        memcpy(&bits, from + 2 * i, sizeof bits);
        to[i] = f32_of_f16(bits);
    }
}

void number_unpack(enum dtype dtype, const void *from, float *to, size_t count)
{
    if (dtype == DTYPE_F32)
        memcpy(to, from, count * sizeof *to);
    else if (dtype == DTYPE_BF16)
        unpack_bf16(from, to, count);
    else
        unpack_f16(from, to, count);
}

static void pack_bf16(const float *from, char *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t bits = bf16_of_f32(from[i]);
        memcpy(to + 2 * i, &bits, sizeof bits);
    }
}

static void pack_f16(const float *from, char *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t bits = f16_of_f32(from[i]);
        memcpy(to + 2 * i, &bits, sizeof bits);
    }
}

void number_pack(enum dtype dtype, const float *from, void *to, size_t count)
{
    if (dtype == DTYPE_F32)
        memcpy(to, from, count * sizeof *from);
    else if (dtype == DTYPE_BF16)
        pack_bf16(from, to, count);
    else
        pack_f16(from, to, count);
}
