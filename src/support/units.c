#include "support/units.h"

#include <ctype.h>

bool decimal_parse(const char *text, struct decimal *out)
{
    *out = (struct decimal){0, 0};
    if (!isdigit((unsigned char)*text))
        return false;
    bool fraction = false;
    for (; *text; text++) {
        if (*text == '.' && !fraction && isdigit((unsigned char)text[1])) {
            fraction = true;
            continue;
        }
        if (!isdigit((unsigned char)*text))
            return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (__builtin_mul_overflow(out->digits, 10, &out->digits) ||
            __builtin_add_overflow(out->digits, digit, &out->digits))
            return false;
        out->scale += fraction;
    }
    for (; out->scale > 0 && out->digits % 10 == 0; out->scale--)
        out->digits /= 10;
    return out->scale <= 18;
}

static uint64_t power_of_ten(unsigned exponent)
{
    uint64_t value = 1;
    while (exponent-- > 0)
        value *= 10;
    return value;
}

bool decimal_to_ps(struct decimal ns, uint64_t *ps)
{
    if (ns.scale > 3)
        return false;
    return !__builtin_mul_overflow(ns.digits, power_of_ten(3 - ns.scale), ps);
}

struct rate rate_reduce(struct rate rate)
{
    uint64_t a = rate.num, b = rate.den;
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a == 0 ? (struct rate){0, 1} : (struct rate){rate.num / a, rate.den / a};
}

/* 1e9 items/s is 1 item/ns = 1000 ps per item: items at `x` = digits / 10^scale of that take
 * 1000 * 10^scale / digits ps each. */
static struct rate rate_from_per_ns(struct decimal x)
{
    unsigned __int128 num = (unsigned __int128)1000 * power_of_ten(x.scale);
    if (x.digits == 0 || num > UINT64_MAX)
        error_bug("rate out of range: %llu / 10^%u per ns", (unsigned long long)x.digits, x.scale);
    return rate_reduce((struct rate){(uint64_t)num, x.digits});
}

struct rate rate_from_gbps(struct decimal gbps)
{
    return rate_from_per_ns(gbps);
}

struct rate rate_from_ghz(struct decimal ghz)
{
    return rate_from_per_ns(ghz);
}

struct rate rate_divide(struct rate rate, uint64_t share)
{
    uint64_t num;
    if (__builtin_mul_overflow(rate.num, share, &num))
        error_bug("rate out of range: %llu ps divided by %llu", (unsigned long long)rate.num,
                  (unsigned long long)share);
    return rate_reduce((struct rate){num, rate.den});
}

uint64_t rate_duration(struct rate rate, uint64_t items)
{
    unsigned __int128 total = (unsigned __int128)items * rate.num + (rate.den - 1);
    total /= rate.den;
    return total < TIME_LAST ? (uint64_t)total : TIME_LAST;
}
