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
    uint32_t dram_channels;
    struct hbm_request *requests; /* pool */
    uint32_t requests_room, requests_free;
    struct hbm_list own, others; /* from its own PE, answered in order; from others */
    uint64_t own_end;            /* of the last answer to its own PE */
    uint64_t wake_at;            /* of the event that looks after them; TIME_NEVER: none */
    uint64_t accepted[HBM_WORKS];
    struct hbm_stats stats;
};

/* What follows from the parameters, per CUBE. */
struct hbm_derived {
    uint32_t channels;        /* of a share */
    struct rate channel_rate; /* ps per byte of one pseudo-channel */
    struct rate share_rate;
    struct dram dram;
    uint64_t burst_bytes, controller_ps;
    /* of a bank's columns, banks and groups, as powers of two, in the order of hbm.mapping from the
     * least significant field on */
    struct {
        uint8_t field, bits;
    } fields[HBM_FIELDS];
    uint8_t block_bits, burst_bits, group_bits, bank_bits;
    bool bank_xor;
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
void banks_advance(const struct cube *cube, struct hbm *hbm, uint64_t now, dram_done *done,
                   void *context);
uint64_t banks_next(const struct cube *cube, const struct hbm *hbm);
uint64_t banks_least(const struct cube *cube, const struct hbm *hbm, uint64_t now, uint64_t bytes);
void banks_derive(const struct machine_params *params, struct hbm_derived *derived);
bool banks_check(const struct machine_params *params, struct key_clash *clash);

#endif
