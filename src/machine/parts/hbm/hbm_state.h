#ifndef AHBM_MACHINE_HBM_STATE_H
#define AHBM_MACHINE_HBM_STATE_H

#include "machine/message.h"
#include "machine/parts/hbm/dram.h"
#include "machine/parts/hbm/hbm.h"
#include "machine/server.h"

/* A request that has no certain end when it arrives, or waits for one that has not. */
struct hbm_request {
    struct memory_message message;
    uint64_t end;    /* of the pieces that are certain */
    uint32_t pieces; /* that are not */
    uint32_t next;   /* in its list */
};

struct hbm_list {
    uint32_t head, tail;
};

struct hbm {
    /* flat */
    struct server *channels; /* pseudo-channels */
    uint64_t *refresh_at_ps; /* start of each channel's next refresh */
    /* banks */
    struct dram_channel *dram;
    uint32_t dram_channels;       /* that are kept apart: 1 while all have had the same to do */
    struct hbm_request *requests; /* pool */
    uint32_t requests_room, requests_free;
    struct hbm_list own, others; /* from its own PE, answered in order; from others */
    uint64_t own_end;            /* of the last answer to its own PE */
    uint64_t wake_at;            /* of the event that looks after them; TIME_NEVER: none */
    uint64_t accepted[HBM_WORKS];
    struct hbm_stats stats;
};

/* Division by a number that is a power of two as a rule. */
struct divider {
    uint64_t number;
    int shift; /* -1: no power of two */
};

static inline struct divider divider_of(uint64_t number)
{
    return (struct divider){number, (number & (number - 1)) == 0 ? __builtin_ctzll(number) : -1};
}

static inline uint64_t divide(uint64_t value, struct divider by, uint64_t *rest)
{
    uint64_t result = by.shift >= 0 ? value >> by.shift : value / by.number;
    *rest = value - result * by.number;
    return result;
}

/* What follows from the parameters, per CUBE. */
struct hbm_derived {
    uint32_t channels;        /* of a share */
    struct rate channel_rate; /* ps per byte of one pseudo-channel */
    struct rate share_rate;
    struct dram dram;
    uint64_t burst_bytes, controller_ps;
    /* of the number of a block; a burst's group when groups alternate is found apart */
    struct {
        uint64_t mask;
        uint8_t shift;
    } fields[HBM_FIELDS];
    bool column_low;               /* blocks of a row follow one another */
    struct divider stripe, spread; /* interleave_bytes; channels */
    uint8_t block_bits, burst_bits, group_bits, bank_bits;
    bool bank_xor;
    uint8_t xor_shift; /* of the block's number to the bits that the bank is mixed with */
};

/* ---- flat.c ---- */

/* When a request that arrives at `now` is served. */
uint64_t flat_serve(const struct cube *cube, struct hbm *hbm, uint64_t now, uint64_t addr,
                    uint64_t bytes);
uint64_t flat_least(const struct cube *cube, const struct hbm *hbm, uint64_t now, uint64_t bytes);

/* ---- banks.c ---- */

/* Splits a request that arrives at `now` into runs; in how many pieces they are served, for each of
 * which `done` is called, now or by banks_advance(). */
uint32_t banks_arrive(const struct cube *cube, struct hbm *hbm, uint64_t now, uint64_t addr,
                      uint64_t bytes, bool write, uint32_t request, dram_done *done, void *context);
/* Has each pseudo-channel simulated by itself from now on: what waits has more pieces. */
void banks_part(const struct cube *cube, struct hbm *hbm);
void banks_advance(const struct cube *cube, struct hbm *hbm, uint64_t now, dram_done *done,
                   void *context);
uint64_t banks_next(const struct cube *cube, const struct hbm *hbm);
uint64_t banks_least(const struct cube *cube, const struct hbm *hbm, uint64_t now, uint64_t bytes);
/* Where the burst at `addr` lies: its pseudo-channel, and bank and row in `run`. */
uint32_t banks_locate(const struct hbm_derived *derived, uint64_t addr, struct dram_run *run);
void banks_derive(const struct machine_params *params, struct hbm_derived *derived);
bool banks_check(const struct machine_params *params, struct key_clash *clash);

#endif
