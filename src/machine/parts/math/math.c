#include "machine/machine.h"

enum math_kind { KIND_SIMPLE, KIND_EXP, KIND_DIV, KIND_REDUCE, KIND_SOFTMAX };

static enum math_kind kind_of(uint8_t fn)
{
#define X(id, name, kind) KIND_##kind,
    static const uint8_t kinds[] = {PROG_MATH_FNS(X)};
#undef X
    return (enum math_kind)kinds[fn];
}

static uint64_t vectors(const struct machine_params *params, uint64_t elements)
{
    return pieces_of(elements, params->math.lanes);
}

static uint64_t command_cycles(const struct machine_params *params, const struct command *command)
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

static uint64_t epilogue_cycles(const struct machine_params *params, uint8_t epilogue,
                                uint64_t elements)
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

/* A command of `cycles`, with its start-up. */
static uint64_t serve(struct cube *cube, struct pe *pe, uint64_t now, uint64_t cycles)
{
    const struct math_params *params = &cube->params->math;
    return server_accept_after(&pe->math.server, params->clock, now, params->startup_ps, cycles);
}

static uint64_t least_ps(const struct math_params *params, uint64_t cycles)
{
    return time_add(params->startup_ps, server_least(params->clock, cycles));
}

static uint64_t least(const struct cube *cube, const struct pe *pe, uint64_t now, uint64_t cycles)
{
    (void)pe;
    return time_add(now, least_ps(&cube->params->math, cycles));
}

uint64_t math_least_ps(const struct machine_params *params, const struct command *command)
{
    return least_ps(&params->math, command_cycles(params, command));
}

void math_run(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    struct pe *pe = pe_of(lp, event);
    struct flight_message message = *math_run_body(event);
    struct flight *flight = &pe->flights[message.flight];
    uint64_t start = time_max(lp->now, server_free_at(&pe->math.server));
    flight_start(flight, lp->now, start, pe->math.last);
    pe->math.last = flight->number;
    flight->least_end_ps = serve(cube, pe, lp->now, command_cycles(cube->params, &flight->command));
    cpu_done_post(lp, event, flight->least_end_ps, message);
}

void math_epilogue(struct lp *lp, const struct event *event)
{
    const struct machine_params *params = cube_of(lp)->params;
    struct pe *pe = pe_of(lp, event);
    const struct epilogue_message *epilogue = math_epilogue_body(event);
    struct flight *flight = &pe->flights[epilogue->flight];
    pe->math.last = flight->number;
    uint64_t cycles = epilogue_cycles(params, flight->command.epilogue, epilogue->elements);
    uint64_t end = server_accept(&pe->math.server, params->math.clock, lp->now, cycles);
    sched_epilogue_post(lp, event, end, (struct flight_message){epilogue->flight});
}

static void collect(const struct cube *cube, const struct pe *pe, struct pe_result *result)
{
    (void)cube;
    result->busy_ps[ENGINE_MATH] = pe->math.server.busy_ps;
}

/* clang-format off */
static const struct key_row keys[] = {
    {"math.clock_ghz", KEY_GHZ, KEY_AT(math.clock), "0.01", "100", "1",
     "clock of the vector unit, in 1e9 cycles/s", "assumption: as gemm.clock_ghz"},
    {"math.lanes", KEY_COUNT, KEY_AT(math.lanes), "1", "16777216", "128", "elements of a vector",
     "assumption: one head dimension in a vector"},
    {"math.startup_ns", KEY_NS, KEY_AT(math.startup_ps), "0", "1000000", "30",
     "start-up of a MATH command, in ns", "assumption: pipeline fill and descriptor"},
    {"math.simple_cycles", KEY_COUNT, KEY_AT(math.simple_cycles), "0", "1000000", "1",
     "cycles of a vector for add, sub, mul, maximum and moves", "assumption: fully pipelined"},
    {"math.exp_cycles", KEY_COUNT, KEY_AT(math.exp_cycles), "0", "1000000", "4",
     "cycles of a vector for exp", "assumption: range reduction and a polynomial in four passes"},
    {"math.div_cycles", KEY_COUNT, KEY_AT(math.div_cycles), "0", "1000000", "4",
     "cycles of a vector for div", "assumption: iterative at a quarter of the rate"},
    {"math.reduce_tail_cycles", KEY_COUNT, KEY_AT(math.reduce_tail_cycles), "0", "1000000", "7",
     "cycles to fold the lanes of a reduction's last vector", "assumption: log2 of 128 lanes"},
};
/* clang-format on */

static const struct part_server servers[] = {{"vector unit", serve, least}};

const struct part math_part = {
    .name = "math",
    PART_ROWS(keys, keys),
    PART_ROWS(servers, servers),
    .collect_pe = collect,
};
