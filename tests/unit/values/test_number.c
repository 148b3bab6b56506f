/* bf16 and f16: every value survives the way to f32 and back, and what lies between two values goes
 * to the nearer one, in the middle to the even one. */
#include <math.h>

#include "../check.h"
#include "values/number.h"

static bool is_nan16(uint16_t bits, uint16_t infinity)
{
    return (bits & 0x7fff) > infinity;
}

static void check_round_trip(float (*widen)(uint16_t), uint16_t (*narrow)(float), uint16_t infinity)
{
    uint32_t wrong = 0;
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        float value = widen((uint16_t)bits);
        bool nan = is_nan16((uint16_t)bits, infinity);
        wrong += nan ? !isnan(value) || !is_nan16(narrow(value), infinity) : narrow(value) != bits;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* Between neighbours: a little below the middle, the middle, a little above. */
static void check_rounding(float (*widen)(uint16_t), uint16_t (*narrow)(float), uint16_t infinity)
{
    uint32_t wrong = 0;
    for (uint16_t low = 0; low + 1 < infinity; low++) {
        uint16_t high = low + 1, even = low % 2 == 0 ? low : high;
        float middle = (float)(((double)widen(low) + (double)widen(high)) / 2);
        wrong += narrow(nextafterf(middle, 0)) != low;
        wrong += narrow(middle) != even;
        wrong += narrow(nextafterf(middle, INFINITY)) != high;
        wrong += narrow(-middle) != (even | 0x8000);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static float widen_bf16(uint16_t bits)
{
    return f32_of_bf16(bits);
}

static uint16_t narrow_bf16(float value)
{
    return bf16_of_f32(value);
}

static void test_bf16(void)
{
    check_round_trip(widen_bf16, narrow_bf16, 0x7f80);
    check_rounding(widen_bf16, narrow_bf16, 0x7f80);
    CU_ASSERT_EQUAL(bf16_of_f32(3.4e38f), 0x7f80);
    CU_ASSERT_EQUAL(bf16_of_f32(f32_of_bits(0xffffffff)), 0x7fc0);
}

static void test_f16(void)
{
    check_round_trip(f32_of_f16, f16_of_f32, 0x7c00);
    check_rounding(f32_of_f16, f16_of_f32, 0x7c00);
    CU_ASSERT_EQUAL(f16_of_f32(65519.0f), 0x7bff);
    CU_ASSERT_EQUAL(f16_of_f32(65520.0f), 0x7c00);
    CU_ASSERT_EQUAL(f16_of_f32(-1e30f), 0xfc00);
    CU_ASSERT_EQUAL(f16_of_f32(0x1p-25f), 0);
    CU_ASSERT_EQUAL(f16_of_f32(0x1.8p-25f), 1);
}

/* Packing and unpacking go by element, at odd addresses too. */
static void test_pack(void)
{
    static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};
    const float values[] = {1.0f, -2.5f, 0.0f, 1024.0f, 0x1p-10f};
    for (int i = 0; i < 3; i++) {
        char bytes[32];
        float back[5];
        number_pack(dtypes[i], values, bytes + 1, 5);
        number_unpack(dtypes[i], bytes + 1, back, 5);
        CU_ASSERT_EQUAL(memcmp(values, back, sizeof values), 0);
    }
}

CHECK_MAIN("values/number", CHECK_TEST(test_bf16), CHECK_TEST(test_f16), CHECK_TEST(test_pack))
