/* The MAC array: an in-order, pipelined server of steps. Filling it delays a step's result, not the
 * next step. */
#include "hw/machine.h"

void gemm_step(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    struct pe *pe = pe_of(lp, event);
    struct slot *slot = &pe->slots[event->arg[0]];
    uint64_t free_at = server_free_at(&pe->gemm);
    uint64_t steps = event->arg[1] * slot->m_tiles, cycles;
    cycles = time_multiply(steps, cube->cost.step_cycles);
    if (slot->command.b.space != SPACE_HBM) {
        slot_start(slot, lp->now, time_max(lp->now, free_at), pe->gemm_last);
        pe->scratch_cycles = time_add(pe->scratch_cycles, cycles);
    }
    pe->gemm_last = slot->number;
    pe->result.gemm_steps += steps;
    uint64_t end = server_accept(&pe->gemm, cube->params->gemm.clock, lp->now, cycles);
    slot->least_end_ps = time_add(end, cube->cost.fill_ps);
    struct event *done = send_part(lp, event, PART_SCHED, MSG_SCHED_STEP, slot->least_end_ps);
    done->arg[0] = event->arg[0];
    done->arg[1] = event->arg[1];
}
