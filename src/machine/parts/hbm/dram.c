#include "machine/parts/hbm/dram_state.h"

#include <string.h>

#include "support/error.h"
#include "support/memory.h"
#include "support/units.h"

/* ---- refresh ---- */

/* Closes every row and refreshes, at the due time or as soon as the rows may be closed. */
static void refresh_all(const struct dram *dram, struct dram_channel *channel)
{
    uint64_t start = channel->refresh_at, closing = 0;
    for (uint32_t i = 0; i < dram->banks; i++) {
        const struct dram_bank *bank = &channel->bank[i];
        bool open = bank->row != DRAM_NO_ROW;
        start =
            time_max(start, open ? bank->pre_ok : bank->act_ok - time_min(bank->act_ok, dram->rp));
        closing = open ? dram->rp : closing;
    }
    uint64_t end = start + closing + dram->rfc;
    for (uint32_t i = 0; i < dram->banks; i++) {
        channel->bank[i].row = DRAM_NO_ROW;
        channel->bank[i].act_ok = time_max(channel->bank[i].act_ok, end);
        channel->bank[i].due = 0;
    }
    channel->due = 0;
    channel->refresh_at += dram->refi;
    channel->stats.refreshes++;
}

static void refresh_bank(const struct dram *dram, struct dram_channel *channel,
                         struct dram_bank *bank)
{
    uint64_t start = bank->refresh_at;
    if (bank->row != DRAM_NO_ROW)
        start = time_max(start, bank->pre_ok) + dram->rp;
    bank->row = DRAM_NO_ROW;
    channel->due = bank->due = 0;
    bank->act_ok = time_max(bank->act_ok, start + dram->rfc_pb);
    bank->refresh_at += dram->refi;
    channel->stats.refreshes++;
}

/* What has fallen due by `now`: of many only the last is still felt. */
void dram_refresh_due(const struct dram *dram, struct dram_channel *channel, uint64_t now)
{
    if (dram->refresh == DRAM_NO_REFRESH || dram->refresh == DRAM_PER_BANK ||
        now < channel->refresh_at)
        return;
    refresh_all(dram, channel);
    if (now < channel->refresh_at)
        return;
    uint64_t skipped = (now - channel->refresh_at) / dram->refi;
    channel->refresh_at += skipped * dram->refi;
    channel->stats.refreshes += skipped;
    refresh_all(dram, channel);
}

void dram_refresh_bank_due(const struct dram *dram, struct dram_channel *channel,
                           struct dram_bank *bank, uint64_t now)
{
    if (dram->refresh != DRAM_PER_BANK || now < bank->refresh_at)
        return;
    refresh_bank(dram, channel, bank);
    if (now < bank->refresh_at)
        return;
    uint64_t skipped = (now - bank->refresh_at) / dram->refi;
    bank->refresh_at += skipped * dram->refi;
    channel->stats.refreshes += skipped;
    refresh_bank(dram, channel, bank);
}

/* No column of the bank at this time or later before the next refresh. */
static uint64_t refresh_limit(const struct dram *dram, const struct dram_channel *channel,
                              const struct dram_bank *bank)
{
    if (dram->refresh == DRAM_NO_REFRESH)
        return TIME_LAST;
    return dram->refresh == DRAM_PER_BANK ? bank->refresh_at : channel->refresh_at;
}

/* ---- rows ---- */

static uint64_t activate_after(const struct dram_channel *channel, uint32_t group, uint64_t now)
{
    uint64_t time = time_max(time_max(now, channel->row_bus), channel->window[channel->window_at]);
    return time_max(time, time_max(channel->after_activate, channel->after_activate_in[group]));
}

/* A row that the policy closes as soon as it may be has been closed by `now`. */
void dram_close_early(const struct dram *dram, struct dram_channel *channel, struct dram_bank *bank,
                      uint64_t now)
{
    if (!dram->closed || bank->row == DRAM_NO_ROW || now < bank->pre_ok)
        return;
    bank->act_ok = time_max(bank->act_ok, bank->pre_ok + dram->rp);
    bank->row = DRAM_NO_ROW;
    channel->due = bank->due = 0;
}

/* A burst of `row` in the bank, chosen at `now`. */
struct dram_plan dram_plan_burst(const struct dram *dram, const struct dram_channel *channel,
                                 uint32_t number, uint64_t row, bool write, uint64_t now)
{
    const struct dram_bank *bank = &channel->bank[number];
    uint64_t rcd = write ? dram->rcd_wr : dram->rcd_rd;
    struct dram_plan plan = {.hit = bank->row == row};
    if (plan.hit) {
        plan.column = time_max(now, bank->act + rcd);
    } else {
        plan.conflict = bank->row != DRAM_NO_ROW;
        uint64_t ready = bank->act_ok;
        if (plan.conflict)
            ready = time_max(ready, time_max(now, bank->pre_ok) + dram->rp);
        plan.act = time_max(activate_after(channel, number & (dram->groups - 1), now), ready);
        plan.column = plan.act + rcd;
    }
    plan.column = time_max(time_max(plan.column, bank->column_ok),
                           channel->chain[number & (dram->groups - 1)]);
    if (write != channel->last_write && channel->last_end > 0) {
        bool same = channel->last_group == (number & (dram->groups - 1));
        plan.column = time_max(plan.column, channel->last_end + (write  ? dram->rtw
                                                                 : same ? dram->wtr_l
                                                                        : dram->wtr_s));
    }
    return plan;
}

/* The window of four and the row bus count from when the row was asked for: a bank that is not
 * ready does not keep the others from opening theirs. */
void dram_open_row(const struct dram *dram, struct dram_channel *channel, uint32_t number,
                   uint64_t row, const struct dram_plan *plan, uint64_t now)
{
    struct dram_bank *bank = &channel->bank[number];
    uint32_t group = number & (dram->groups - 1);
    uint64_t asked = activate_after(channel, group, now);
    channel->window[channel->window_at] = asked + dram->faw;
    channel->after_activate = asked + dram->rrd_s;
    channel->after_activate_in[group] = asked + dram->rrd_l;
    channel->window_at = (channel->window_at + 1) & (DRAM_WINDOW - 1);
    channel->row_bus = asked + dram->bus_act + (plan->conflict ? dram->bus_pre : 0);
    channel->stats.activates++;
    channel->stats.conflicts += plan->conflict;
    bank->row = row;
    bank->act = plan->act;
    bank->act_ok = plan->act + dram->rc;
    bank->pre_ok = plan->act + dram->ras;
    bank->hits = 0;
}

/* ---- the data bus ---- */

static void add_gap(const struct dram *dram, struct dram_channel *channel, uint64_t start,
                    uint64_t end)
{
    if (end < start + dram->burst)
        return;
    if (channel->gaps == DRAM_GAPS) /* the oldest is the least likely to be of use */
        memmove(channel->gap, channel->gap + 1, --channel->gaps * sizeof *channel->gap);
    channel->gap[channel->gaps++] = (struct dram_gap){start, end};
}

/* What a burst that is chosen at `now` and all later ones cannot use. */
static void forget_gaps(const struct dram *dram, struct dram_channel *channel, bool write,
                        uint64_t now)
{
    uint64_t first = now + (write ? dram->cwl : dram->cl) + dram->burst;
    uint32_t old = 0;
    while (old < channel->gaps && (write != channel->last_write || channel->gap[old].end < first))
        old++;
    if (old == 0)
        return;
    channel->gaps -= old;
    memmove(channel->gap, channel->gap + old, channel->gaps * sizeof *channel->gap);
}

/* Puts a burst on the bus, not before `first`; returns its start, TIME_NEVER if that is after
 * `limit`. */
static uint64_t take_bus(const struct dram *dram, struct dram_channel *channel, uint64_t first,
                         uint64_t limit)
{
    for (uint32_t i = 0; i < channel->gaps; i++) {
        struct dram_gap *gap = &channel->gap[i];
        uint64_t start = time_max(gap->start, first), end = start + dram->burst;
        if (end > gap->end)
            continue;
        if (start > limit)
            return TIME_NEVER;
        struct dram_gap after = {end, gap->end};
        if (start >= gap->start + dram->burst) {
            gap->end = start;
            if (after.end >= after.start + dram->burst && channel->gaps < DRAM_GAPS) {
                memmove(gap + 2, gap + 1, (channel->gaps - i - 1) * sizeof *gap);
                gap[1] = after;
                channel->gaps++;
            }
        } else {
            *gap = after;
        }
        return start;
    }
    uint64_t start = time_max(channel->bus_free, first);
    if (start > limit)
        return TIME_NEVER;
    add_gap(dram, channel, channel->bus_free, start);
    channel->bus_free = start + dram->burst;
    return start;
}

/* The columns of a bank keep tCCD_L, from the first on. Those of its group are counted from when
 * they were asked for: a bank that is not ready does not keep the others of its group. */
static void note_columns(const struct dram *dram, struct dram_channel *channel, uint32_t number,
                         uint64_t first, uint64_t columns, uint64_t now)
{
    uint64_t *chain = &channel->chain[number & (dram->groups - 1)];
    *chain = time_max(*chain, now) + columns * dram->ccd_l;
    channel->bank[number].column_ok = first + columns * dram->ccd_l;
}

static void note_data(const struct dram *dram, struct dram_channel *channel, uint32_t number,
                      bool write, uint64_t start, uint64_t bursts)
{
    struct dram_bank *bank = &channel->bank[number];
    uint64_t end = start + dram->burst;
    if (write != channel->last_write || end > channel->last_end) {
        channel->last_end = end;
        channel->last_group = number & (dram->groups - 1);
    }
    channel->last_write = write;
    channel->stats.bursts += bursts;
    bank->hits += (uint32_t)bursts;
    bank->pre_ok = time_max(bank->pre_ok, write ? end + dram->wr : start - dram->cl + dram->rtp);
}

/* One burst, chosen at `now`; returns the end of its data. */
uint64_t dram_serve_burst(const struct dram *dram, struct dram_channel *channel, uint32_t number,
                          uint64_t row, bool write, uint64_t now)
{
    struct dram_bank *bank = &channel->bank[number];
    uint64_t latency = write ? dram->cwl : dram->cl;
    if (bank->head != NONE || dram->round_robin)
        channel->due = bank->due = 0;
    if (channel->gaps > 0)
        forget_gaps(dram, channel, write, now);
    for (;;) {
        dram_refresh_bank_due(dram, channel, bank, now);
        dram_close_early(dram, channel, bank, now);
        uint64_t limit = refresh_limit(dram, channel, bank), start = TIME_NEVER;
        struct dram_plan plan = dram_plan_burst(dram, channel, number, row, write, now);
        if (!plan.hit && plan.act < limit)
            dram_open_row(dram, channel, number, row, &plan, now);
        if (plan.column < limit)
            start = take_bus(dram, channel, plan.column + latency, limit - 1 + latency);
        if (start != TIME_NEVER) {
            note_columns(dram, channel, number, plan.column, 1, now);
            note_data(dram, channel, number, write, start, 1);
            return start + dram->burst;
        }
        now = time_max(now, limit);
        if (dram->refresh != DRAM_PER_BANK)
            refresh_all(dram, channel);
    }
}

uint32_t dram_bank_at(const struct dram *dram, const struct dram_run *run, uint32_t burst)
{
    if (dram->wide == 1)
        return run->bank;
    uint32_t first = run->bank & ~(dram->wide - 1);
    return first + ((run->bank + burst) & (dram->wide - 1));
}

/* All bursts of a run from burst `from` on, if their rows are open and the bus has no gap that they
 * could use; false: one by one. The columns of each group follow at tCCD_L, the data of all at the
 * pace of the bus, which is not the faster one; so the first burst of each group decides. */
bool dram_serve_open(const struct dram *dram, struct dram_channel *channel,
                     const struct dram_run *run, uint32_t from, uint64_t now, uint64_t *end)
{
    uint32_t bursts = run->bursts - from, banks = bursts < dram->wide ? bursts : dram->wide;
    uint64_t latency = run->write ? dram->cwl : dram->cl;
    uint64_t rcd = run->write ? dram->rcd_wr : dram->rcd_rd, columns[DRAM_GROUPS_MAX];
    uint64_t pace = dram->wide * dram->burst >= dram->ccd_l ? dram->burst : dram->ccd_l;
    uint64_t start = 0, limit = dram->refresh == DRAM_NO_REFRESH || dram->refresh == DRAM_PER_BANK
                                    ? TIME_LAST
                                    : channel->refresh_at;
    uint64_t earliest_column = TIME_NEVER;
    columns[0] = 0;
    if (dram->closed || (pace > dram->burst && dram->wide > 1) ||
        (run->write != channel->last_write && channel->last_end > 0))
        return false;
    for (uint32_t i = 0; i < banks; i++) {
        uint32_t number = dram_bank_at(dram, run, from + i);
        const struct dram_bank *bank = &channel->bank[number];
        if (bank->row != run->row || bank->head != NONE)
            return false;
        if (dram->refresh == DRAM_PER_BANK)
            limit = time_min(limit, bank->refresh_at);
        uint64_t column = time_max(time_max(now, bank->act + rcd), bank->column_ok);
        column = time_max(column, channel->chain[number & (dram->groups - 1)]);
        columns[i] = column;
        earliest_column = time_min(earliest_column, column);
        if (i == 0)
            start = time_max(channel->bus_free, column + latency);
        else if (column + latency > start + i * dram->burst)
            return false;
    }
    if (channel->gaps > 0)
        forget_gaps(dram, channel, run->write, now);
    /* Nor may one of them find room before the first, or in a gap that is there. */
    uint64_t soonest = earliest_column + latency + dram->burst;
    if ((channel->gaps > 0 && channel->gap[channel->gaps - 1].end >= soonest) ||
        (start > channel->bus_free && start >= soonest))
        return false;
    /* In one bank columns slower than the bus leave gaps, unless the bus is behind them. */
    uint64_t last = start + (bursts - 1) * dram->burst;
    if (pace > dram->burst) {
        uint64_t last_column = columns[0] + (bursts - 1) * pace;
        if (last_column + latency > last)
            return false;
    }
    if (last - latency >= limit)
        return false;
    add_gap(dram, channel, channel->bus_free, start);
    channel->bus_free = *end = last + dram->burst;
    for (uint32_t i = 0; i < banks; i++) {
        uint32_t visits = ((bursts - i - 1) >> dram->wide_bits) + 1;
        uint32_t number = dram_bank_at(dram, run, from + i);
        note_columns(dram, channel, number, columns[i], visits, now);
        note_data(dram, channel, number, run->write,
                  start + (i + ((uint64_t)(visits - 1) << dram->wide_bits)) * dram->burst, visits);
    }
    return true;
}

/* A run that is chosen at `now`; returns the end of its data. */
uint64_t dram_serve(const struct dram *dram, struct dram_channel *channel,
                    const struct dram_run *run, uint64_t now)
{
    uint64_t last = 0;
    for (uint32_t from = 0; from < run->bursts;) {
        uint64_t end;
        if (dram_serve_open(dram, channel, run, from, now, &end))
            return time_max(last, end);
        /* once round all banks before it is tried again */
        for (uint32_t i = 0; i < dram->wide && from < run->bursts; i++, from++)
            last = time_max(last, dram_serve_burst(dram, channel, dram_bank_at(dram, run, from),
                                                   run->row, run->write, now));
    }
    return last;
}

/* What is on the bus before a refresh was asked for before it; what comes after waits for the
 * refresh and for its row. */
static uint64_t after_refreshes(const struct dram *dram, const struct dram_channel *channel,
                                uint64_t time)
{
    if (dram->refresh != DRAM_ALL_BANK && dram->refresh != DRAM_STAGGERED)
        return time;
    uint64_t before = time_max(dram->cl, dram->cwl) + dram->burst;
    uint64_t after =
        dram->rfc + time_min(dram->rcd_rd, dram->rcd_wr) + time_min(dram->cl, dram->cwl);
    for (uint64_t due = channel->refresh_at; time > due + before && after > before;
         due += dram->refi)
        time += after - before;
    return time;
}

/* The gaps one after the other, then behind everything: not even the order can be better. */
uint64_t dram_least(const struct dram *dram, const struct dram_channel *channel, uint64_t now,
                    uint64_t bursts)
{
    uint64_t first = now + time_min(dram->cl, dram->cwl);
    uint64_t left = time_multiply(bursts, dram->burst);
    for (uint32_t i = 0; i < channel->gaps; i++) {
        uint64_t start = time_max(channel->gap[i].start, first), end = channel->gap[i].end;
        if (start + left <= end)
            return start + left;
        left -= end - time_min(start, end);
    }
    uint64_t end = time_add(time_max(channel->bus_free, first), left);
    return now < channel->refresh_at ? after_refreshes(dram, channel, end) : end;
}

void dram_init(const struct dram *dram, struct dram_channel *channel, uint64_t refresh_at)
{
    if (dram->banks > DRAM_BANKS_MAX || dram->groups > DRAM_GROUPS_MAX)
        error_bug("%u banks in %u groups", dram->banks, dram->groups);
    memset(channel, 0, sizeof *channel);
    channel->refresh_at = refresh_at;
    channel->waiting_free = NONE;
    for (uint32_t i = 0; i < dram->banks; i++)
        channel->bank[i] =
            (struct dram_bank){.row = DRAM_NO_ROW,
                               .refresh_at = refresh_at + i * (dram->refi / dram->banks),
                               .head = NONE,
                               .tail = NONE};
}

void dram_fini(struct dram_channel *channel)
{
    memory_free(channel->waiting);
}
