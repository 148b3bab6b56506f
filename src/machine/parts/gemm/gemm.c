#include "machine/machine.h"

uint64_t gemm_step_cycles(const struct machine_params *params)
{
    uint64_t macs = params->sched.tile_m * params->sched.tile_k * params->sched.tile_n;
    return pieces_of(macs, params->gemm.macs_per_cycle);
}

uint64_t gemm_fill_ps(const struct machine_params *params)
{
    return rate_duration(params->gemm.clock, params->gemm.fill_cycles);
}

/* When `cycles` that arrive at `now` are done; their result comes after the array's fill. */
static uint64_t serve(struct cube *cube, struct pe *pe, uint64_t now, uint64_t cycles)
{
    return server_accept(&pe->gemm.server, cube->params->gemm.clock, now, cycles);
}

/* Without the picosecond that a carried fraction may save. */
uint64_t gemm_least(const struct cube *cube, const struct pe *pe, uint64_t now, uint64_t cycles)
{
    uint64_t rest = 0;
    return time_add(time_max(now, pe->gemm.server.whole_ps),
                    server_split(cycles, cube->params->gemm.clock, &rest));
}

void gemm_step(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    struct pe *pe = pe_of(lp, event);
    struct gemm *gemm = &pe->gemm;
    const struct steps_message *step = gemm_step_body(event);
    struct flight *flight = &pe->flights[step->flight];
    uint64_t free_at = server_free_at(&gemm->server);
    uint64_t steps = step->steps * flight->m_tiles;
    uint64_t cycles = time_multiply(steps, cube->gemm.step_cycles);
    if (flight->command.b.space != SPACE_HBM) {
        flight_start(flight, lp->now, time_max(lp->now, free_at), gemm->last);
        gemm->scratch_cycles = time_add(gemm->scratch_cycles, cycles);
    }
    gemm->last = flight->number;
    gemm->stats.steps += steps;
    flight->least_end_ps = time_add(serve(cube, pe, lp->now, cycles), cube->gemm.fill_ps);
    sched_step_post(lp, event, flight->least_end_ps, *step);
}

uint64_t gemm_scratch_cycles(const struct pe *pe)
{
    return pe->gemm.scratch_cycles;
}

static void prepare(struct cube *cube)
{
    cube->gemm = (struct gemm_derived){gemm_step_cycles(cube->params), gemm_fill_ps(cube->params)};
}

static void collect(const struct cube *cube, const struct pe *pe, struct pe_result *result)
{
    (void)cube;
    result->gemm = pe->gemm.stats;
    result->busy_ps[ENGINE_GEMM] = pe->gemm.server.busy_ps;
}

/* clang-format off */
static const struct key_row keys[] = {
    {"gemm.clock_ghz", KEY_GHZ, KEY_AT(gemm.clock), "0.01", "100", "1",
     "clock of the MAC array, in 1e9 cycles/s", "assumption: a logic die's usual clock"},
    {"gemm.macs_per_cycle", KEY_COUNT, KEY_AT(gemm.macs_per_cycle), "1", "16777216", "4096",
     "multiply-accumulates in a cycle", "assumption: a GEMM step takes 16 ns"},
    {"gemm.fill_cycles", KEY_COUNT, KEY_AT(gemm.fill_cycles), "0", "1000000", "16",
     "cycles to fill the array when it has run empty", "assumption: one GEMM step"},
};

static const struct column columns[] = {
    {COLUMN_AT(COLUMN_PE, struct pe_result, gemm.steps),
     "gemm_steps", "1", "steps of TILE_M x TILE_K x TILE_N of the MAC array"},
};
/* clang-format on */

static const struct part_server servers[] = {{"array", serve, gemm_least}};

const struct part gemm_part = {
    .name = "gemm",
    PART_ROWS(keys, keys),
    PART_ROWS(columns, columns),
    PART_ROWS(servers, servers),
    .prepare = prepare,
    .collect_pe = collect,
};
