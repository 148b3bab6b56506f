/* The error of a machine that is too slow for simulated time to hold its run. */
#include "hw/machine.h"

#include <stdio.h>

/* The keys of the machine file that a part's times come from. */
static const char *const keys[PARTS] = {
    [PART_CPU] = "cpu.*",   [PART_SCHED] = "scratch.bandwidth_gbps",
    [PART_DMA] = "dma.*",   [PART_GEMM] = "gemm.*, scheduler.*",
    [PART_MATH] = "math.*", [PART_IPCQ] = "ipcq.*, scratch.bandwidth_gbps",
    [PART_HBM] = "hbm.*",   [PART_ROUTER] = "pe_link.*",
};

/* Whether the message's first argument is a slot. */
static bool names_slot(uint16_t kind)
{
    return kind == MSG_CPU_DONE || kind == MSG_SCHED_COMMAND || kind == MSG_SCHED_STEP ||
           kind == MSG_SCHED_EPILOGUE || kind == MSG_GEMM_STEP || kind == MSG_MATH_RUN ||
           kind == MSG_MATH_EPILOGUE || kind == MSG_IPCQ_SEND || kind == MSG_IPCQ_RECV;
}

/* ", command 7 (attention.c:88)", or nothing. */
static void print_command(const struct lp *lp, const struct pe *pe, char text[128])
{
    const struct event *event = &lp->current;
    text[0] = '\0';
    if (!names_slot(event->kind) || event->arg[0] >= pe->slots_count)
        return;
    const struct slot *slot = &pe->slots[event->arg[0]];
    snprintf(text, 128, ", command %llu (%.80s:%u)", (unsigned long long)slot->number,
             slot->command.file, slot->command.line);
}

void cube_late(struct lp *lp, uint32_t src)
{
    const struct cube *cube = cube_of(lp);
    uint32_t number = unit_pe(src), part = (src & ((1u << HW_UNIT_BITS) - 1)) % PARTS;
    if (number >= cube->pes) {
        error_set(
            &lp->error, ERROR_FAILED,
            "simulated time runs out: on a link of CUBE %u a packet would arrive after 2^62 ps "
            "(53 days): cube_link.* or sip_link.* are too slow for this run",
            lp->id);
        return;
    }
    const struct pe *pe = &cube->pe[number];
    char command[128];
    print_command(lp, pe, command);
    error_set(&lp->error, ERROR_FAILED,
              "simulated time runs out: kernel %s, CUBE %u PE %u%s would end after 2^62 ps (53 "
              "days): the machine's %s are too slow for this run",
              pe->program ? pe->program->kernel : "(none)", lp->id, number, command, keys[part]);
}
