/* What waits for its bank, and the order in which it goes. */
#include <string.h>

#include "machine/parts/hbm/dram_state.h"
#include "support/memory.h"

/* Returns in how many new pieces: none, if it only makes the last one longer. */
static uint32_t append(struct dram_channel *channel, const struct dram_run *run, uint64_t now)
{
    struct dram_bank *bank = &channel->bank[run->bank];
    if (bank->head != NONE) {
        struct dram_waiting *last = &channel->waiting[bank->tail];
        if (last->arrival == now && last->run.request == run->request &&
            last->run.row == run->row) {
            last->run.bursts += run->bursts;
            channel->due = bank->due = 0;
            return 0;
        }
    }
    if (channel->waiting_free == NONE) {
        uint32_t old = channel->waiting_room, room = old == 0 ? 16 : 2 * old;
        struct dram_waiting *larger = memory_new(room, sizeof *larger);
        if (old > 0)
            memcpy(larger, channel->waiting, old * sizeof *larger);
        for (uint32_t i = old; i < room; i++)
            larger[i].next = i + 1 < room ? i + 1 : NONE;
        memory_free(channel->waiting);
        channel->waiting = larger;
        channel->waiting_free = old;
        channel->waiting_room = room;
    }
    uint32_t at = channel->waiting_free;
    channel->waiting_free = channel->waiting[at].next;
    channel->waiting[at] = (struct dram_waiting){*run, now, NONE};
    if (bank->head == NONE)
        bank->head = at;
    else
        channel->waiting[bank->tail].next = at;
    bank->tail = at;
    channel->waiting_banks |= UINT64_C(1) << run->bank;
    channel->due = bank->due = 0;
    return 1;
}

/* A bank's next step, and when: a column of the run at `at`, or to open that run's row. */
struct step {
    uint64_t time;
    uint32_t previous, at;
    bool hit;
};

/* A hit that is seen goes first: the oldest's in any case, a younger one's while the row cannot be
 * closed anyway, or has not had `hit_cap` bursts. Then the oldest. */
static struct step next_step(const struct dram *dram, const struct dram_channel *channel,
                             uint32_t number)
{
    const struct dram_bank *bank = &channel->bank[number];
    uint32_t seen = 0, previous = NONE;
    for (uint32_t at = bank->head; at != NONE && seen < dram->bank_window;
         at = channel->waiting[at].next) {
        const struct dram_waiting *waiting = &channel->waiting[at];
        const struct dram_run *run = &waiting->run;
        if (bank->row == run->row) {
            uint64_t column =
                dram_plan_burst(dram, channel, number, run->row, run->write, waiting->arrival)
                    .column;
            uint64_t latency = run->write ? dram->cwl : dram->cl;
            if (dram->round_robin && channel->bus_free > latency)
                column = time_max(column, channel->bus_free - latency);
            if (at == bank->head || bank->hits < dram->hit_cap ||
                (dram->round_robin ? column : waiting->arrival) < bank->pre_ok)
                return (struct step){dram->round_robin ? column : waiting->arrival, previous, at,
                                     true};
            break;
        }
        seen += run->bursts;
        previous = at;
    }
    uint64_t ready =
        bank->row == DRAM_NO_ROW ? bank->act_ok - time_min(bank->act_ok, dram->rp) : bank->pre_ok;
    if (bank->row == DRAM_NO_ROW && !dram->round_robin)
        ready = 0;
    return (struct step){time_max(ready, channel->waiting[bank->head].arrival), NONE, bank->head,
                         false};
}

/* The earliest of all banks; of equals the one whose turn it is. A bank's next step changes with
 * the bank alone, unless all wait for the data bus in turn. */
static uint32_t earliest(const struct dram *dram, struct dram_channel *channel, struct step *step)
{
    uint64_t time = TIME_NEVER;
    uint32_t best = 0, best_order = NONE;
    for (uint64_t left = channel->waiting_banks; left != 0; left &= left - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(left);
        struct dram_bank *bank = &channel->bank[number];
        if (bank->due == 0 || dram->round_robin)
            bank->due = next_step(dram, channel, number).time;
        uint32_t order = (number + dram->banks - channel->turn - 1) & (dram->banks - 1);
        if (bank->due > time || (bank->due == time && order > best_order))
            continue;
        time = bank->due;
        best = number;
        best_order = order;
    }
    *step = next_step(dram, channel, best);
    return best;
}

/* A burst of the run of the step; the run leaves with its last. */
static void serve_waiting(const struct dram *dram, struct dram_channel *channel, uint32_t number,
                          const struct step *step, uint64_t now, dram_done *done, void *context)
{
    struct dram_bank *bank = &channel->bank[number];
    struct dram_run *run = &channel->waiting[step->at].run;
    uint64_t end = dram_serve_burst(dram, channel, number, run->row, run->write, now);
    channel->turn = number;
    if (--run->bursts > 0)
        return;
    uint32_t next = channel->waiting[step->at].next, request = run->request;
    if (step->previous == NONE)
        bank->head = next;
    else
        channel->waiting[step->previous].next = next;
    if (next == NONE)
        bank->tail = step->previous;
    channel->waiting[step->at].next = channel->waiting_free;
    channel->waiting_free = step->at;
    if (bank->head == NONE)
        channel->waiting_banks &= ~(UINT64_C(1) << number);
    done(context, request, end);
}

uint64_t dram_next(const struct dram *dram, struct dram_channel *channel)
{
    struct step step = {.time = TIME_NEVER};
    if (channel->waiting_banks != 0)
        earliest(dram, channel, &step);
    return step.time;
}

/* All that a bank can do by `now`, when banks do not take turns. */
static void advance_bank(const struct dram *dram, struct dram_channel *channel, uint32_t number,
                         uint64_t now, dram_done *done, void *context)
{
    while (channel->bank[number].head != NONE) {
        struct step step = next_step(dram, channel, number);
        if (step.time > now)
            return;
        serve_waiting(dram, channel, number, &step, step.time, done, context);
    }
}

void dram_advance(const struct dram *dram, struct dram_channel *channel, uint64_t now,
                  dram_done *done, void *context)
{
    while (channel->waiting_banks != 0 && channel->due <= now) {
        struct step step;
        uint32_t number = earliest(dram, channel, &step);
        channel->due = step.time;
        if (step.time > now)
            return;
        if (dram->refresh != DRAM_NO_REFRESH && dram->refresh != DRAM_PER_BANK &&
            step.time >= channel->refresh_at) {
            dram_refresh_due(dram, channel, step.time);
            continue;
        }
        if (!dram->round_robin) {
            advance_bank(dram, channel, number, step.time, done, context);
            continue;
        }
        if (step.hit) {
            serve_waiting(dram, channel, number, &step, step.time, done, context);
            continue;
        }
        struct dram_bank *bank = &channel->bank[number];
        const struct dram_run *run = &channel->waiting[step.at].run;
        dram_refresh_bank_due(dram, channel, bank, step.time);
        dram_close_early(dram, channel, bank, step.time);
        struct dram_plan plan =
            dram_plan_burst(dram, channel, number, run->row, run->write, step.time);
        dram_open_row(dram, channel, number, run->row, &plan, step.time);
    }
}

/* Whether a burst of `row` that arrives at `now` can have its times at once: nothing waits for its
 * bank, and no other row must stay open for a while. */
static bool may_go(const struct dram *dram, struct dram_channel *channel, uint32_t number,
                   uint64_t row, uint64_t now)
{
    struct dram_bank *bank = &channel->bank[number];
    dram_refresh_bank_due(dram, channel, bank, now);
    dram_close_early(dram, channel, bank, now);
    return bank->head == NONE &&
           (bank->row == row || bank->row == DRAM_NO_ROW || bank->pre_ok <= now);
}

/* Burst by burst: one whose bank is ready is served, another waits. */
static uint32_t arrive_apart(const struct dram *dram, struct dram_channel *channel, uint64_t now,
                             const struct dram_run *run, dram_done *done, void *context)
{
    uint32_t pieces = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < run->bursts; i++) {
        struct dram_run burst = *run;
        burst.bank = dram_bank_at(dram, run, i);
        burst.bursts = 1;
        if (channel->waiting_banks != 0 && now > 0)
            dram_advance(dram, channel, now - 1, done, context);
        if (!dram->round_robin && may_go(dram, channel, burst.bank, run->row, now)) {
            end = time_max(end, dram_serve(dram, channel, &burst, now));
            continue;
        }
        pieces += append(channel, &burst, now);
        if (!dram->round_robin)
            advance_bank(dram, channel, burst.bank, now, done, context);
    }
    if (end > 0) {
        pieces++;
        done(context, run->request, end);
    }
    return pieces;
}

uint32_t dram_arrive(const struct dram *dram, struct dram_channel *channel, uint64_t now,
                     const struct dram_run *run, dram_done *done, void *context)
{
    uint32_t banks = run->bursts < dram->wide ? run->bursts : dram->wide;
    /* What is due at `now` itself may yet be changed by what else arrives at `now`. */
    if (channel->waiting_banks != 0 && now > 0)
        dram_advance(dram, channel, now - 1, done, context);
    dram_refresh_due(dram, channel, now);
    uint64_t end;
    if (!dram->round_robin && dram->refresh != DRAM_PER_BANK &&
        dram_serve_open(dram, channel, run, 0, now, &end)) {
        done(context, run->request, end);
        return 1;
    }
    bool apart = dram->round_robin || channel->waiting_banks != 0;
    for (uint32_t i = 0; i < banks && !apart; i++)
        apart = !may_go(dram, channel, dram_bank_at(dram, run, i), run->row, now);
    if (apart)
        return arrive_apart(dram, channel, now, run, done, context);
    done(context, run->request, dram_serve(dram, channel, run, now));
    return 1;
}

void dram_copy(struct dram_channel *to, const struct dram_channel *from,
               void (*waits)(void *context, uint32_t request), void *context)
{
    *to = *from;
    if (from->waiting_room == 0)
        return;
    to->waiting = memory_new(from->waiting_room, sizeof *to->waiting);
    memcpy(to->waiting, from->waiting, from->waiting_room * sizeof *to->waiting);
    for (uint64_t left = to->waiting_banks; left != 0; left &= left - 1)
        for (uint32_t at = to->bank[__builtin_ctzll(left)].head; at != NONE;
             at = to->waiting[at].next)
            waits(context, to->waiting[at].run.request);
}
