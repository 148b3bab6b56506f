/* What holds for every run that ended, whatever the programs: nothing is busy for longer than the
 * run, nothing is lost on the way. */
#ifndef AHBM_TESTS_HW_RULES_H
#define AHBM_TESTS_HW_RULES_H

#include "rig.h"

/* Names the first rule that is broken. */
#define RULE(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return #condition;                                                                     \
    } while (0)

static inline const char *rules_of_pe(const struct pe_result *pe, uint64_t elapsed)
{
    for (int e = 0; e < ENGINE_KINDS; e++)
        RULE(pe->busy_ps[e] <= elapsed);
    for (int d = 0; d < DIRECTIONS; d++)
        RULE(pe->links.busy_ps[d] <= elapsed);
    RULE(pe->hbm.busy_ps <= elapsed);
    RULE(pe->cpu.last_store_ps <= pe->cpu.last_end_ps);
    return NULL;
}

static inline void rules_add(struct pe_result *sum, const struct pe_result *pe)
{
    for (int i = 0; i < COUNT_KINDS; i++)
        sum->cpu.counts[i] += pe->cpu.counts[i];
    sum->dma.read_bytes += pe->dma.read_bytes;
    sum->dma.write_bytes += pe->dma.write_bytes;
    sum->ipcq.sent_bytes += pe->ipcq.sent_bytes;
    sum->ipcq.received_bytes += pe->ipcq.received_bytes;
    sum->ipcq.fragments += pe->ipcq.fragments;
    sum->hbm.read_bytes += pe->hbm.read_bytes;
    sum->hbm.write_bytes += pe->hbm.write_bytes;
    sum->sched.useful_macs += pe->sched.useful_macs;
    sum->gemm.steps += pe->gemm.steps;
    for (int d = 0; d < DIRECTIONS; d++)
        sum->links.bytes[d] += pe->links.bytes[d];
}

/* Until the last credit has come home. */
static inline uint64_t rules_elapsed(const struct rig *rig)
{
    uint64_t last = rig_elapsed(rig);
    for (uint32_t i = 0; i < rig->cubes_count; i++)
        last = time_max(last, engine_lp(rig->engine, i)->now);
    return last;
}

/* NULL when all hold. `total` receives the sums over all PEs. */
static inline const char *rules_broken(const struct rig *rig, struct pe_result *total)
{
    uint64_t elapsed = rules_elapsed(rig);
    memset(total, 0, sizeof *total);
    for (uint32_t i = 0; i < rig->cubes_count; i++) {
        struct pe_result sum = {0};
        struct cube_result cube = rig_cube(rig, i);
        for (uint32_t pe = 0; pe < rig->pes; pe++) {
            struct pe_result result = rig_pe(rig, i, pe);
            const char *rule = rules_of_pe(&result, elapsed);
            if (rule != NULL)
                return rule;
            rules_add(&sum, &result);
        }
        RULE(sum.dma.read_bytes == sum.hbm.read_bytes); /* no access leaves the CUBE */
        RULE(sum.dma.write_bytes == sum.hbm.write_bytes);
        rules_add(total, &sum);
        for (int link = 0; link < 2 * DIRECTIONS; link++) {
            RULE(cube.links.busy_ps[link] <= elapsed);
            RULE(cube.links.wait_max_ps[link] <= elapsed);
            RULE((cube.links.packets[link] == 0) == (cube.links.bytes[link] == 0));
        }
    }
    RULE(total->ipcq.sent_bytes == total->ipcq.received_bytes);
    RULE(total->ipcq.fragments >= total->cpu.counts[COUNT_IPCQ_COPY]);
    return NULL;
}

#endif
