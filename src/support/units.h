/* Simulated time and exact rates.
 *
 * Time is an unsigned count of picoseconds. A rate is a ratio of integers, "num picoseconds per den
 * items", read from the decimal text of the machine file, so that no floating point reaches
 * simulated time. A duration is ceil(items * num / den), computed in 128 bits. What comes to
 * TIME_LAST or more is TIME_LAST, and an event at TIME_LAST fails the run (lp_send()): time never
 * wraps.
 */
#ifndef AHBM_SUPPORT_UNITS_H
#define AHBM_SUPPORT_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/error.h"

#define TIME_NEVER UINT64_MAX

/* Where simulated time ends: 2^62 ps, 53 days. Three of them can be added without a check. */
#define TIME_LAST (UINT64_C(1) << 62)

struct rate {
    uint64_t num; /* picoseconds */
    uint64_t den; /* per this many items; never 0 */
};

/* A time of a memory's data sheet: in nanoseconds or in periods of its clock; one of the two is 0.
 */
struct timing {
    uint64_t ps;
    uint64_t milliclocks;
};

/* A decimal number read whole: value = digits / 10^scale. */
struct decimal {
    uint64_t digits;
    unsigned scale;
};

/* Parses [0-9]+(\.[0-9]+)? whole. False when `text` is anything else or does not fit. */
bool decimal_parse(const char *text, struct decimal *out);

/* Nanoseconds to picoseconds; false when it is not a whole number of picoseconds. */
bool decimal_to_ps(struct decimal ns, uint64_t *ps);

/* `gbps` in 1e9 bytes per second -> picoseconds per byte. `gbps` must not be 0. */
struct rate rate_from_gbps(struct decimal gbps);

/* `ghz` in 1e9 cycles per second -> picoseconds per cycle. `ghz` must not be 0. */
struct rate rate_from_ghz(struct decimal ghz);

/* The rate of `share` equal parts of a resource: 1 / share of its throughput. */
struct rate rate_divide(struct rate rate, uint64_t share);

/* num and den without their common divisor. */
struct rate rate_reduce(struct rate rate);

/* ceil(items * num / den) in picoseconds, TIME_LAST at most. */
uint64_t rate_duration(struct rate rate, uint64_t items);

/* How many pieces of `piece` make up `whole`, the last of them perhaps not full. */
static inline uint64_t pieces_of(uint64_t whole, uint64_t piece)
{
    return (whole + piece - 1) / piece;
}

/* a + b, TIME_LAST at most. */
static inline uint64_t time_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) || sum > TIME_LAST ? TIME_LAST : sum;
}

/* a * b, TIME_LAST at most. */
static inline uint64_t time_multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > TIME_LAST ? TIME_LAST : product;
}

/* a + b, where TIME_NEVER stays TIME_NEVER and a sum too large becomes it. */
static inline uint64_t time_add_saturated(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? TIME_NEVER : sum;
}

static inline uint64_t time_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t time_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
