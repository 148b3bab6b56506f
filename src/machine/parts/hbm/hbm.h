/* A PE's share of the stack: pseudo-channels, interleaved. Two models of them: banks and rows with
 * the timings of a data sheet (dram.h), and a flat one, where each is an in-order bandwidth server
 * that is away for `refresh_busy_ps` at every multiple of `refresh_interval_ps`. Refresh is
 * computed when a request needs it; nothing happens at its edge. */
#ifndef AHBM_MACHINE_HBM_H
#define AHBM_MACHINE_HBM_H

#include <stdint.h>

#include "machine/parts/hbm/dram_params.h"
#include "support/units.h"

struct cube;
struct pe;
struct machine_params;

struct hbm_params {
    uint32_t model;          /* enum hbm_model */
    uint64_t capacity_bytes; /* of a CUBE's stack */
    uint64_t pseudo_channels;
    uint64_t interleave_bytes; /* consecutive bytes of one pseudo-channel */
    /* flat */
    struct rate rate;    /* ps per byte of the whole stack */
    uint64_t latency_ps; /* end of the burst to data at the DMA */
    uint64_t refresh_interval_ps;
    uint64_t refresh_busy_ps; /* per interval; 0: no refresh */
    /* banks */
    struct dram_params dram;
};

struct hbm_stats {
    uint64_t busy_ps;    /* of the busiest pseudo-channel: data on its bus */
    uint64_t read_bytes; /* served, for any PE */
    uint64_t write_bytes;
    uint64_t activates; /* 0 in the flat model, as the others */
    uint64_t row_conflicts;
    uint64_t refreshes;
};

/* What a share has accepted from its own PE: sub-tile fetches; loads and stores. */
enum hbm_work { HBM_FETCHES, HBM_TRANSFERS, HBM_WORKS };

/* ---- bounds, for promises ---- */

/* A time before which the share has not served `bytes` more, none of them accepted before `now`. */
uint64_t hbm_least(const struct cube *cube, const struct pe *pe, uint64_t now, uint64_t bytes);

/* Bytes accepted so far. */
uint64_t hbm_accepted(const struct pe *pe, enum hbm_work work);

/* Bandwidth of a share; so many bytes in a row touch every one of its pseudo-channels; what lies
 * between the end of a request's data on the bus and the DMA, at least. */
struct rate hbm_share_rate(const struct machine_params *params);
uint64_t hbm_spread_bytes(const struct machine_params *params);
uint64_t hbm_tail_ps(const struct machine_params *params);

#endif
