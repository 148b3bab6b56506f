/* A pseudo-channel of DRAM, alone: a run has the times of its bursts, promises are kept, and each
 * timing does what its name says, held against sums written out here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "machine/parts/hbm/dram.h"
#include "support/hash.h"
#include "rig.h"
#include "support/units.h"

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    return hash_finish(*seed = hash_word(*seed, 1)) % below;
}

/* Round numbers, no two sums of which are alike. */
static struct dram plain(void)
{
    return (struct dram){
        .burst = 32,
        .ccd_l = 64,
        .cl = 100,
        .cwl = 50,
        .rcd_rd = 110,
        .rcd_wr = 90,
        .rp = 120,
        .ras = 300,
        .rc = 420,
        .rrd_s = 40,
        .rrd_l = 40,
        .faw = 200,
        .rtp = 45,
        .wr = 130,
        .wtr_s = 30,
        .wtr_l = 70,
        .rtw = 10,
        .refi = 20000,
        .rfc = 2600,
        .rfc_pb = 1300,
        .bus_act = 16,
        .bus_pre = 8,
        .banks = 16,
        .groups = 4,
        .wide = 1,
        .hit_cap = 4,
        .bank_window = 8,
        .refresh = DRAM_NO_REFRESH,
    };
}

static struct dram random_dram(uint64_t *seed)
{
    struct dram dram = plain();
    dram.burst = 10 + draw(seed, 40);
    dram.ccd_l = dram.burst * (1 + draw(seed, 2)) + draw(seed, 9);
    dram.wide = draw(seed, 2) == 0 ? 1 : dram.groups;
    dram.wide_bits = dram.wide == 1 ? 0 : 2;
    dram.rrd_s = draw(seed, 60);
    dram.rrd_l = dram.rrd_s + draw(seed, 30);
    dram.faw = draw(seed, 300);
    dram.rtp = draw(seed, 60);
    dram.bus_act = draw(seed, 40);
    dram.hit_cap = (uint32_t)draw(seed, 8);
    dram.bank_window = 1 + (uint32_t)draw(seed, 40);
    dram.refresh = (enum dram_refresh)draw(seed, 4);
    dram.closed = draw(seed, 4) == 0;
    dram.round_robin = draw(seed, 3) == 0;
    return dram;
}

enum { REQUESTS = 400, BURSTS_MAX = 40 };

struct ends {
    uint64_t end[REQUESTS];
    uint32_t pieces[REQUESTS];
};

static void note(void *context, uint32_t request, uint64_t end)
{
    struct ends *ends = context;
    ends->end[request] = time_max(ends->end[request], end);
    ends->pieces[request]--;
}

static void arrive(const struct dram *dram, struct dram_channel *channel, uint64_t now,
                   const struct dram_run *run, struct ends *ends)
{
    ends->pieces[run->request] += dram_arrive(dram, channel, now, run, note, ends);
}

/* ---- a run is its bursts ---- */

static struct dram_run random_run(const struct dram *dram, uint64_t *seed, uint32_t request)
{
    return (struct dram_run){.row = draw(seed, 3),
                             .bank = (uint32_t)draw(seed, dram->banks),
                             .bursts = 1 + (uint32_t)draw(seed, BURSTS_MAX),
                             .request = request,
                             .write = draw(seed, 10) == 0};
}

static uint64_t compare(uint64_t seed)
{
    struct dram dram = random_dram(&seed);
    static struct dram_channel whole, apart;
    static struct ends of_runs, of_bursts;
    uint64_t now = 0, wrong = 0;
    memset(&of_runs, 0, sizeof of_runs);
    memset(&of_bursts, 0, sizeof of_bursts);
    dram_init(&dram, &whole, dram.refi);
    dram_init(&dram, &apart, dram.refi);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        struct dram_run run = random_run(&dram, &seed, i);
        uint64_t least = dram_least(&dram, &whole, now, run.bursts);
        arrive(&dram, &whole, now, &run, &of_runs);
        if (of_runs.pieces[i] == 0 && of_runs.end[i] < least) {
            printf("seed: request %u promised not before %llu, done %llu\n", i,
                   (unsigned long long)least, (unsigned long long)of_runs.end[i]);
            wrong++;
        }
        for (uint32_t k = 0; k < run.bursts; k++) {
            struct dram_run burst = run;
            burst.bursts = 1;
            if (dram.wide > 1)
                burst.bank = run.bank / dram.wide * dram.wide + (run.bank + k) % dram.wide;
            arrive(&dram, &apart, now, &burst, &of_bursts);
        }
        now += draw(&seed, 3) == 0 ? draw(&seed, 4000) : draw(&seed, 300);
    }
    dram_advance(&dram, &whole, TIME_LAST / 2, note, &of_runs);
    dram_advance(&dram, &apart, TIME_LAST / 2, note, &of_bursts);
    for (uint32_t i = 0; i < REQUESTS; i++)
        if (of_runs.end[i] != of_bursts.end[i] || of_runs.end[i] == 0 || of_runs.pieces[i] != 0 ||
            of_bursts.pieces[i] != 0) {
            if (wrong++ == 0)
                printf(
                    "request %u (wide %u, refresh %d, closed %d, turns %d): %llu, burst by burst "
                    "%llu\n",
                    i, dram.wide, dram.refresh, dram.closed, dram.round_robin,
                    (unsigned long long)of_runs.end[i], (unsigned long long)of_bursts.end[i]);
        }
    wrong += whole.stats.bursts != apart.stats.bursts ||
             whole.stats.activates != apart.stats.activates ||
             whole.stats.conflicts != apart.stats.conflicts;
    dram_fini(&whole);
    dram_fini(&apart);
    return wrong;
}

static void test_run_is_its_bursts(void)
{
    for (uint64_t seed = 1; seed <= 300; seed++)
        EQUAL(compare(seed), 0);
}

/* ---- the data bus carries one burst at a time ---- */

static int by_time(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

static void test_bus(void)
{
    for (uint64_t seed = 1000; seed < 1200; seed++) {
        uint64_t state = seed, now = 0, close = 0;
        struct dram dram = random_dram(&state);
        static struct dram_channel channel;
        static struct ends ends;
        memset(&ends, 0, sizeof ends);
        dram_init(&dram, &channel, dram.refi);
        for (uint32_t i = 0; i < REQUESTS; i++) {
            struct dram_run run = random_run(&dram, &state, i);
            run.bursts = 1;
            arrive(&dram, &channel, now, &run, &ends);
            now += draw(&state, 100);
        }
        dram_advance(&dram, &channel, TIME_LAST / 2, note, &ends);
        qsort(ends.end, REQUESTS, sizeof *ends.end, by_time);
        for (uint32_t i = 1; i < REQUESTS; i++)
            close += ends.end[i] < ends.end[i - 1] + dram.burst;
        EQUAL(close, 0);
        dram_fini(&channel);
    }
}

/* ---- single requests ---- */

static uint64_t one(const struct dram *dram, struct dram_channel *channel, uint64_t now,
                    uint32_t bank, uint64_t row, bool write)
{
    struct ends ends = {{0}, {0}};
    struct dram_run run = {.row = row, .bank = bank, .bursts = 1, .write = write};
    arrive(dram, channel, now, &run, &ends);
    dram_advance(dram, channel, TIME_LAST / 2, note, &ends);
    return ends.end[0];
}

static void test_idle(void)
{
    struct dram dram = plain();
    struct dram_channel channel;
    dram_init(&dram, &channel, dram.refi);
    EQUAL(one(&dram, &channel, 1000, 3, 7, false), 1000 + 110 + 100 + 32);       /* closed */
    EQUAL(one(&dram, &channel, 3000, 3, 7, false), 3000 + 100 + 32);             /* hit */
    EQUAL(one(&dram, &channel, 5000, 3, 8, false), 5000 + 120 + 110 + 100 + 32); /* conflict */
    EQUAL(one(&dram, &channel, 7000, 3, 8, true), 7000 + 50 + 32);               /* write */
    EQUAL(one(&dram, &channel, 9000, 4, 8, true), 9000 + 90 + 50 + 32);          /* closed */
    EQUAL(one(&dram, &channel, 9172, 4, 8, false), 9172 + 70 + 100 + 32);        /* tWTR */
    EQUAL(one(&dram, &channel, 9374, 4, 8, true), 9374 + 10 + 50 + 32);          /* tRTW */
    /* tWR: the row of the write that ended at 9466 */
    EQUAL(one(&dram, &channel, 9466, 4, 9, true), 9466 + 130 + 120 + 90 + 50 + 32);
    /* tRAS, then tRC, of a row just opened: 20000 + 110 + 100 + 32 */
    EQUAL(one(&dram, &channel, 20000, 9, 1, false), 20242);
    EQUAL(one(&dram, &channel, 20242, 9, 2, false), 20000 + 300 + 120 + 110 + 100 + 32);
    dram.rc = 500;
    EQUAL(one(&dram, &channel, 30000, 10, 1, false), 30242);
    EQUAL(one(&dram, &channel, 30242, 10, 2, false), 30000 + 500 + 110 + 100 + 32);
    dram_fini(&channel);
}

/* Eight activates at once: four at tRRD, the fifth tFAW after the first. */
static void test_window(void)
{
    struct dram dram = plain();
    struct dram_channel channel;
    struct ends ends = {{0}, {0}};
    dram_init(&dram, &channel, dram.refi);
    for (uint32_t i = 0; i < 8; i++) {
        struct dram_run run = {.row = 1, .bank = i, .bursts = 1, .request = i};
        arrive(&dram, &channel, 1000, &run, &ends);
        EQUAL(ends.end[i], 1000 + i / 4 * 200 + i % 4 * 40 + 110 + 100 + 32);
    }
    dram_fini(&channel);
}

/* ---- streams ---- */

/* The end of `runs` runs of `bursts` bursts that arrive together, each in the next bank. */
static uint64_t stream(const struct dram *dram, uint32_t runs, uint32_t bursts, uint32_t rows)
{
    struct dram_channel channel;
    struct ends ends = {{0}, {0}};
    uint64_t last = 0;
    dram_init(dram, &channel, dram->refi);
    for (uint32_t i = 0; i < runs; i++) {
        struct dram_run run = {.row = rows > 1 ? i : 1, .bank = i % dram->banks, .bursts = bursts};
        arrive(dram, &channel, last > 5000 ? last - 5000 : 0, &run, &ends);
        dram_advance(dram, &channel, last > 5000 ? last - 5000 : 0, note, &ends);
        last = time_max(last, ends.end[0]);
    }
    dram_advance(dram, &channel, TIME_LAST / 2, note, &ends);
    dram_fini(&channel);
    return ends.end[0];
}

/* Sequential rows in turn over all banks come at the bus's full pace, whatever tRP and tRCD are. */
static void test_stream(void)
{
    struct dram dram = plain();
    dram.ccd_l = 32;
    uint64_t first = dram.rcd_rd + dram.cl;
    EQUAL(stream(&dram, 1000, 64, 1000), first + 1000 * 64 * 32);
    dram.rp = 240;
    dram.rc = 540;
    EQUAL(stream(&dram, 1000, 64, 1000), first + 1000 * 64 * 32);
    /* one burst a row: an activate each, four in tFAW */
    uint64_t end = stream(&dram, 4000, 1, 4000);
    CU_ASSERT_TRUE(end > 4000 / 4 * 200 - 200 && end < 4000 / 4 * 200 + 2000);
    /* one bank, one row: tCCD_L */
    dram.ccd_l = 70;
    dram.banks = 4;
    dram.groups = 4;
    struct dram one_bank = dram;
    one_bank.banks = one_bank.groups = 1;
    EQUAL(stream(&one_bank, 1, 1000, 1), first + 999 * 70 + 32);
}

/* Of each tREFI a stream loses tRFC, the closing and opening of rows, and not much more. */
static void test_refresh(void)
{
    struct dram dram = plain();
    dram.ccd_l = 32;
    dram.refresh = DRAM_ALL_BANK;
    uint64_t bursts = 2000 * 64, busy = bursts * 32;
    for (uint64_t rfc = 1000; rfc <= 4000; rfc += 1500) {
        dram.rfc = rfc;
        uint64_t end = stream(&dram, 2000, 64, 2000), refreshes = end / 20000;
        uint64_t least = busy + refreshes * (rfc + dram.rp + dram.rcd_rd);
        uint64_t most =
            busy + (refreshes + 1) * (rfc + dram.rp + dram.rcd_rd + dram.ras + dram.rtp);
        CU_ASSERT_TRUE(end >= least && end <= most);
        if (end < least || end > most)
            printf("rfc %llu: %llu .. %llu: %llu\n", (unsigned long long)rfc,
                   (unsigned long long)least, (unsigned long long)most, (unsigned long long)end);
    }
}

/* ---- the order ---- */

/* A younger hit goes before an older request that needs another row while that cannot be opened
 * yet; the bus has no gap for it otherwise. */
static void test_first_ready(void)
{
    struct dram dram = plain();
    struct dram_channel channel;
    struct ends ends = {{0}, {0}};
    dram_init(&dram, &channel, dram.refi);
    struct dram_run runs[] = {{.row = 1, .bank = 0, .bursts = 1, .request = 0},
                              {.row = 2, .bank = 0, .bursts = 1, .request = 1},
                              {.row = 1, .bank = 0, .bursts = 1, .request = 2}};
    for (int i = 0; i < 3; i++)
        arrive(&dram, &channel, 1000, &runs[i], &ends);
    EQUAL(ends.end[0], 1000 + 110 + 100 + 32);
    EQUAL(ends.end[2], 1000 + 110 + 64 + 100 + 32);
    EQUAL(ends.end[1], 0); /* waits */
    EQUAL(dram_next(&dram, &channel), 1300);
    dram_advance(&dram, &channel, 1299, note, &ends);
    EQUAL(ends.end[1], 0);
    dram_advance(&dram, &channel, 1300, note, &ends);
    EQUAL(ends.end[1], 1000 + 300 + 120 + 110 + 100 + 32);
    dram_fini(&channel);
}

/* Two rows of two banks: one after the other, or their bursts in turn. */
static void test_turns(void)
{
    struct dram dram = plain();
    dram.ccd_l = 32;
    dram.rrd_s = dram.rrd_l = 0;
    dram.bus_act = 0;
    for (int turns = 0; turns < 2; turns++) {
        struct dram_channel channel;
        struct ends ends = {{0}, {0}};
        dram.round_robin = turns;
        dram_init(&dram, &channel, dram.refi);
        for (uint32_t i = 0; i < 2; i++) {
            struct dram_run run = {.row = 1, .bank = i, .bursts = 100, .request = i};
            arrive(&dram, &channel, 0, &run, &ends);
        }
        dram_advance(&dram, &channel, TIME_LAST / 2, note, &ends);
        uint64_t first = time_min(ends.end[0], ends.end[1]);
        EQUAL(time_max(ends.end[0], ends.end[1]), 110 + 100 + 200 * 32);
        EQUAL(first, 110 + 100 + (turns ? 199 : 100) * 32);
        dram_fini(&channel);
    }
}

CHECK_MAIN("machine/dram", CHECK_TEST(test_run_is_its_bursts), CHECK_TEST(test_bus),
           CHECK_TEST(test_idle), CHECK_TEST(test_window), CHECK_TEST(test_stream),
           CHECK_TEST(test_refresh), CHECK_TEST(test_first_ready), CHECK_TEST(test_turns))
