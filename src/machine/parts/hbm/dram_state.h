/* What dram.c and dram_queue.c share; nobody else includes it. */
#ifndef AHBM_MACHINE_DRAM_STATE_H
#define AHBM_MACHINE_DRAM_STATE_H

#include "machine/parts/hbm/dram.h"
#include "support/units.h"

enum { NONE = UINT32_MAX };

struct dram_waiting {
    struct dram_run run;
    uint64_t arrival;
    uint32_t next; /* for the same bank; or free */
};

/* A burst that is chosen now. */
struct dram_plan {
    bool hit, conflict;
    uint64_t act, column; /* the earliest */
};

/* ---- dram.c ---- */

/* Refreshes that have fallen due by `now`: of the whole pseudo-channel; of a bank. */
void dram_refresh_due(const struct dram *dram, struct dram_channel *channel, uint64_t now);
void dram_refresh_bank_due(const struct dram *dram, struct dram_channel *channel,
                           struct dram_bank *bank, uint64_t now);

/* A row that the policy closes as soon as it may be has been closed by `now`. */
void dram_close_early(const struct dram *dram, struct dram_channel *channel, struct dram_bank *bank,
                      uint64_t now);

struct dram_plan dram_plan_burst(const struct dram *dram, const struct dram_channel *channel,
                                 uint32_t number, uint64_t row, bool write, uint64_t now);
void dram_open_row(const struct dram *dram, struct dram_channel *channel, uint32_t number,
                   uint64_t row, const struct dram_plan *plan, uint64_t now);

/* One burst, chosen at `now`; returns the end of its data. */
uint64_t dram_serve_burst(const struct dram *dram, struct dram_channel *channel, uint32_t number,
                          uint64_t row, bool write, uint64_t now);

/* All bursts of a run from burst `from` on; false: they must go one by one. */
bool dram_serve_open(const struct dram *dram, struct dram_channel *channel,
                     const struct dram_run *run, uint32_t from, uint64_t now, uint64_t *end);

/* A run that is chosen at `now`; returns the end of its data. */
uint64_t dram_serve(const struct dram *dram, struct dram_channel *channel,
                    const struct dram_run *run, uint64_t now);

/* The bank of a burst of the run. */
uint32_t dram_bank_at(const struct dram *dram, const struct dram_run *run, uint32_t burst);

#endif
