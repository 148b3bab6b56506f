/* A pseudo-channel of DRAM: banks with rows, a bus for row commands, a data bus. Pure timing: it
 * knows no events and holds no data. The share of a PE (hbm.c) drives it, and so does
 * tests/fidelity.
 *
 * A burst is what one column command moves. What is allowed, of the standards' timings:
 *
 *   column     >= arrival; activate of its bank + tRCD; last column of its bank group + tCCD_L;
 *                 the turn of the bus from read to write or back
 *   data       >= column + CL; on the data bus, one burst at a time
 *   precharge  >= activate + tRAS; last column + tRTP, or end of written data + tWR
 *   activate   >= precharge + tRP; last activate of its bank + tRC; of any bank + tRRD; the fourth
 *                 last + tFAW; the row bus
 *   refresh    from its due time on no column; all rows closed, + tRP + tRFC (or one bank's alone)
 *
 * The order (`round_robin` false): a burst that needs no other row than the open one, or whose bank
 * can change its row, is given its times when it arrives, on the data bus after all that came
 * before or in a gap that they left. One that must wait for its bank's row to be closed waits in
 * the bank's queue; until then the bank's row is for those that hit it, younger ones too. With
 * `round_robin` nothing has times before its column is due, and banks take turns on the data bus.
 *
 * The unit of a call is the run: consecutive bursts. A run whose rows are open is served at once,
 * with exactly the times that its bursts would get one by one (tests/unit/machine/test_dram.c). */
#ifndef AHBM_MACHINE_DRAM_H
#define AHBM_MACHINE_DRAM_H

#include <stdbool.h>
#include <stdint.h>

enum { DRAM_BANKS_MAX = 64, DRAM_GROUPS_MAX = 16, DRAM_WINDOW = 4, DRAM_GAPS = 8 };
#define DRAM_NO_ROW UINT64_MAX

enum dram_refresh { DRAM_NO_REFRESH, DRAM_ALL_BANK, DRAM_STAGGERED, DRAM_PER_BANK };

/* What all pseudo-channels of a stack have in common. Times in picoseconds. */
struct dram {
    uint64_t burst;   /* on the data bus: the longer of its length and tCCD_S */
    uint64_t ccd_l;   /* between columns of a bank group */
    uint64_t cl, cwl; /* column to data */
    uint64_t rcd_rd, rcd_wr, rp, ras, rc, rrd_s, rrd_l, faw;
    uint64_t rtp, wr;
    uint64_t wtr_s, wtr_l,
        rtw; /* end of written data to a read's column; end of read data to a write's */
    uint64_t refi, rfc, rfc_pb;
    uint64_t bus_act, bus_pre; /* on the row bus */
    uint32_t banks;            /* a power of two; bank b is of group b % groups */
    uint32_t groups;
    uint32_t wide;        /* consecutive bursts go round so many banks, one of each group; or 1 */
    uint32_t wide_bits;   /* its logarithm */
    uint32_t hit_cap;     /* bursts of a row after which no younger hit keeps it open */
    uint32_t bank_window; /* bursts of a bank's queue that are looked at */
    enum dram_refresh refresh;
    bool closed; /* a row is closed as soon as it may be */
    bool round_robin;
};

struct dram_bank {
    uint64_t row; /* DRAM_NO_ROW: closed */
    uint64_t act; /* when it was opened */
    uint64_t act_ok, column_ok, pre_ok;
    uint64_t refresh_at;
    uint32_t hits;       /* bursts since it was opened */
    uint32_t head, tail; /* of those that wait */
    uint64_t due;        /* their next step; 0: not known */
};

struct dram_stats {
    uint64_t bursts, activates, conflicts, refreshes; /* conflicts: activates that closed a row */
};

/* Consecutive bursts of the row `row` of bank `bank` (or of `wide` banks, from that one on). */
struct dram_run {
    uint64_t row;
    uint32_t bank, bursts;
    uint32_t request; /* the caller's */
    bool write;
};

/* Time of the data bus that nothing has used, for what comes later and is ready before. */
struct dram_gap {
    uint64_t start, end;
};

struct dram_channel {
    uint64_t bus_free;
    uint64_t chain[DRAM_GROUPS_MAX]; /* of a group: when it may be asked for its next column */
    uint64_t last_end;               /* of data */
    uint64_t refresh_at;
    uint64_t waiting_banks; /* a bit for each */
    uint64_t due;           /* nothing of what waits can go before */
    bool last_write;
    uint32_t gaps, turn; /* turn: the bank that had the data bus last */
    struct dram_bank bank[DRAM_BANKS_MAX];
    struct dram_gap gap[DRAM_GAPS]; /* in order of time */
    uint64_t window[DRAM_WINDOW];   /* of the last four activates, a ring: when tFAW is over ... */
    uint32_t window_at;
    uint64_t after_activate;                     /* ... of the last, tRRD_S ... */
    uint64_t after_activate_in[DRAM_GROUPS_MAX]; /* ... and of a group's last, tRRD_L */
    uint32_t last_group;                         /* of the last data */
    uint64_t row_bus;
    struct dram_waiting *waiting; /* pool */
    uint32_t waiting_free, waiting_room;
    struct dram_stats stats;
};

/* `refresh_at`: of the first one; with DRAM_PER_BANK, of the first bank. */
void dram_init(const struct dram *dram, struct dram_channel *channel, uint64_t refresh_at);
void dram_fini(struct dram_channel *channel);

/* Makes `to`, which has been neither used nor initialised, a copy of `from`; for each run that
 * waits there it calls `waits`. */
void dram_copy(struct dram_channel *to, const struct dram_channel *from,
               void (*waits)(void *context, uint32_t request), void *context);

/* A piece of a request has its times: its data ends at `end`. */
typedef void dram_done(void *context, uint32_t request, uint64_t end);

/* A run arrives at `now`, not before any that came. Returns in how many pieces it is served; `done`
 * is called once for each, now or from dram_advance(). */
uint32_t dram_arrive(const struct dram *dram, struct dram_channel *channel, uint64_t now,
                     const struct dram_run *run, dram_done *done, void *context);

/* Decides all that is due at `now` or before. Arrivals until then must have been told. */
void dram_advance(const struct dram *dram, struct dram_channel *channel, uint64_t now,
                  dram_done *done, void *context);

/* When the next decision is due, if nothing more arrives; TIME_NEVER: nothing waits. */
uint64_t dram_next(const struct dram *dram, struct dram_channel *channel);

/* A time before which `bursts` that arrive at `now` or later do not have their data. */
uint64_t dram_least(const struct dram *dram, const struct dram_channel *channel, uint64_t now,
                    uint64_t bursts);

#endif
