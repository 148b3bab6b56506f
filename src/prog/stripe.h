/* How a CUBE's stack is striped over the HBM shares of its PEs: consecutive bytes of the stack lie
 * in one share for `unit` bytes, then in the next one. The stack and the shares are two ways to
 * name the same memory.
 *
 *     stack    0        unit     2 unit   3 unit   4 unit         (4 shares)
 *              |share 0 |share 1 |share 2 |share 3 |share 0 |...
 *     share 0  |0..unit |4 unit..5 unit |8 unit..
 */
#ifndef AHBM_PROG_STRIPE_H
#define AHBM_PROG_STRIPE_H

#include <stdint.h>

struct stripe {
    uint64_t unit;   /* bytes */
    uint32_t shares; /* PEs of a CUBE */
};

struct stripe_place {
    uint32_t share;
    uint64_t addr; /* bytes from the start of the share */
};

/* Where byte `addr` of the stack lies. */
static inline struct stripe_place stripe_place(struct stripe stripe, uint64_t addr)
{
    uint64_t unit = addr / stripe.unit;
    return (struct stripe_place){(uint32_t)(unit % stripe.shares),
                                 unit / stripe.shares * stripe.unit + addr % stripe.unit};
}

/* The other way round. */
static inline uint64_t stripe_address(struct stripe stripe, struct stripe_place place)
{
    uint64_t unit = place.addr / stripe.unit * stripe.shares + place.share;
    return unit * stripe.unit + place.addr % stripe.unit;
}

/* Bytes from `addr` of the stack to the end of its unit. */
static inline uint64_t stripe_left(struct stripe stripe, uint64_t addr)
{
    return stripe.unit - addr % stripe.unit;
}

/* Of the stack's first `addr` bytes, those in a share. */
static inline uint64_t stripe_below(struct stripe stripe, uint64_t addr, uint32_t share)
{
    uint64_t unit = addr / stripe.unit, row = unit / stripe.shares, last = unit % stripe.shares;
    if (last == share)
        return row * stripe.unit + addr % stripe.unit;
    return (row + (last > share)) * stripe.unit;
}

/* Of `bytes` of the stack from `addr` on, those in a share. They lie there in one run. */
static inline uint64_t stripe_bytes(struct stripe stripe, uint64_t addr, uint64_t bytes,
                                    uint32_t share)
{
    return stripe_below(stripe, addr + bytes, share) - stripe_below(stripe, addr, share);
}

#endif
