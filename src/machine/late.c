/* The error of a machine that is too slow for simulated time to hold its run. */
#include "machine/machine.h"

#include <stdio.h>

/* The keys of the machine file that a unit's times come from. */
static const char *const keys[UNITS] = {
    [UNIT_CPU] = "cpu.*",   [UNIT_SCHED] = "scratch.bandwidth_gbps",
    [UNIT_DMA] = "dma.*",   [UNIT_GEMM] = "gemm.*, scheduler.*",
    [UNIT_MATH] = "math.*", [UNIT_IPCQ] = "ipcq.*, scratch.bandwidth_gbps",
    [UNIT_HBM] = "hbm.*",   [UNIT_ROUTER] = "pe_link.*",
};

/* The command that the message is about, as its place among those in flight; NO_FLIGHT: none. */
static uint16_t flight_of(const struct event *event)
{
    switch (event->kind) {
    case MSG_CPU_DONE:
    case MSG_SCHED_COMMAND:
    case MSG_SCHED_EPILOGUE:
    case MSG_MATH_RUN:
    case MSG_IPCQ_SEND:
    case MSG_IPCQ_RECV:
        return cpu_done_body(event)->flight; /* they have one body */
    case MSG_SCHED_STEP:
    case MSG_GEMM_STEP:
        return gemm_step_body(event)->flight;
    case MSG_MATH_EPILOGUE:
        return math_epilogue_body(event)->flight;
    default:
        return NO_FLIGHT;
    }
}

/* ", command 7 (attention.c:88)", or nothing. */
static void print_command(const struct lp *lp, const struct pe *pe, char text[128])
{
    uint16_t index = flight_of(&lp->current);
    text[0] = '\0';
    if (index >= pe->flights_count)
        return;
    const struct flight *flight = &pe->flights[index];
    snprintf(text, 128, ", command %llu (%.80s:%u)", (unsigned long long)flight->number,
             flight->command.file, flight->command.line);
}

void machine_late(struct lp *lp, uint32_t src)
{
    const struct cube *cube = cube_of(lp);
    uint32_t number = unit_pe(src), unit = (src & ((1u << MACHINE_UNIT_BITS) - 1)) % UNITS;
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
              pe->program ? pe->program->kernel : "(none)", lp->id, number, command, keys[unit]);
}
