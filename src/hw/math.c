/* The vector unit: an in-order server. A command takes its start-up and one pass per vector of
 * `lanes` elements; an epilogue streams behind the array and has no start-up. */
#include "hw/machine.h"

enum math_kind { KIND_SIMPLE, KIND_EXP, KIND_DIV, KIND_REDUCE, KIND_SOFTMAX };

static enum math_kind kind_of(uint8_t fn)
{
#define X(id, name, kind) KIND_##kind,
    static const uint8_t kinds[] = {PROG_MATH_FNS(X)};
#undef X
    return (enum math_kind)kinds[fn];
}

static uint64_t vectors(const struct hw_params *params, uint64_t elements)
{
    return pieces_of(elements, params->math.lanes);
}

uint64_t math_cycles(const struct hw_params *params, const struct command *command)
{
    uint64_t elements = operand_elements(&command->out);
    uint64_t simple = params->math.simple_cycles, tail = params->math.reduce_tail_cycles;
    if (operand_elements(&command->a) > elements)
        elements = operand_elements(&command->a);
    uint64_t passes = vectors(params, elements);
    switch (kind_of(command->fn)) {
    case KIND_EXP:
        return passes * params->math.exp_cycles;
    case KIND_DIV:
        return passes * params->math.div_cycles;
    case KIND_REDUCE:
        return passes * simple + tail;
    case KIND_SOFTMAX: /* max, subtract, exp, sum, divide */
        return passes * (3 * simple + params->math.exp_cycles + params->math.div_cycles) + 2 * tail;
    default:
        return passes * simple;
    }
}

static uint64_t epilogue_cycles(const struct hw_params *params, uint8_t epilogue, uint64_t elements)
{
    uint64_t passes = vectors(params, elements), per_pass = 0, tail = 0;
    uint64_t simple = params->math.simple_cycles;
    if (epilogue & EPILOGUE_SCALE)
        per_pass += simple;
    if (epilogue & EPILOGUE_ADD)
        per_pass += simple;
    if (epilogue & EPILOGUE_RESCALE) /* multiply, add */
        per_pass += 2 * simple;
    if (epilogue & EPILOGUE_SOFTMAX_MERGE) { /* max, subtract, exp, sum; the state is one vector */
        per_pass += 3 * simple + params->math.exp_cycles;
        tail = 2 * params->math.reduce_tail_cycles + 4 * simple + params->math.exp_cycles;
    }
    return passes * per_pass + tail;
}

void math_run(struct lp *lp, const struct event *event)
{
    const struct hw_params *params = cube_of(lp)->params;
    struct pe *pe = pe_of(lp, event);
    struct slot *slot = &pe->slots[event->arg[0]];
    slot_start(slot, lp->now, time_max(lp->now, server_free_at(&pe->math)), pe->math_last);
    pe->math_last = slot->number;
    uint64_t end =
        server_accept_after(&pe->math, params->math.clock, lp->now, params->math.startup_ps,
                            math_cycles(params, &slot->command));
    slot->least_end_ps = end;
    send_part(lp, event, PART_CPU, MSG_CPU_DONE, end)->arg[0] = event->arg[0];
}

void math_epilogue(struct lp *lp, const struct event *event)
{
    const struct hw_params *params = cube_of(lp)->params;
    struct pe *pe = pe_of(lp, event);
    struct slot *slot = &pe->slots[event->arg[0]];
    pe->math_last = slot->number;
    uint64_t cycles = epilogue_cycles(params, slot->command.epilogue, event->arg[1]);
    uint64_t end = server_accept(&pe->math, params->math.clock, lp->now, cycles);
    send_part(lp, event, PART_SCHED, MSG_SCHED_EPILOGUE, end)->arg[0] = event->arg[0];
}
