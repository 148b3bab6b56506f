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
        RULE(pe->link_busy_ps[d] <= elapsed);
    RULE(pe->hbm_busy_ps <= elapsed);
    RULE(pe->last_store_ps <= pe->last_end_ps);
    return NULL;
}

static inline void rules_add(struct pe_result *sum, const struct pe_result *pe)
{
    for (int i = 0; i < COUNT_KINDS; i++)
        sum->counts[i] += pe->counts[i];
    sum->read_bytes += pe->read_bytes;
    sum->write_bytes += pe->write_bytes;
    sum->sent_bytes += pe->sent_bytes;
    sum->received_bytes += pe->received_bytes;
    sum->fragments += pe->fragments;
    sum->hbm_read_bytes += pe->hbm_read_bytes;
    sum->hbm_write_bytes += pe->hbm_write_bytes;
    sum->useful_macs += pe->useful_macs;
    sum->gemm_steps += pe->gemm_steps;
    for (int d = 0; d < DIRECTIONS; d++)
        sum->link_bytes[d] += pe->link_bytes[d];
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
        RULE(sum.read_bytes == sum.hbm_read_bytes); /* no access leaves the CUBE */
        RULE(sum.write_bytes == sum.hbm_write_bytes);
        rules_add(total, &sum);
        for (int link = 0; link < 2 * DIRECTIONS; link++) {
            RULE(cube.link_busy_ps[link] <= elapsed);
            RULE(cube.link_wait_max_ps[link] <= elapsed);
            RULE((cube.link_packets[link] == 0) == (cube.link_bytes[link] == 0));
        }
    }
    RULE(total->sent_bytes == total->received_bytes);
    RULE(total->fragments >= total->counts[COUNT_IPCQ_COPY]);
    return NULL;
}

#endif
