/* Assembles a CUBE from its parts, and tells what it measured. */
#include "machine/cube.h"

#include <string.h>

#include "machine/lookahead/lookahead.h"
#include "machine/machine.h"
#include "pdes/core/engine.h"
#include "support/memory.h"

const struct lp_model *cube_model(void)
{
#define X(id, handler, part, body) handler,
    static lp_handler *const handlers[] = {MACHINE_MESSAGES(X)};
#undef X
#define X(id, handler, part, body) #id,
    static const char *const names[] = {MACHINE_MESSAGES(X)};
#undef X
    static const struct lp_model model = {.handlers = handlers,
                                          .names = names,
                                          .kinds = MESSAGES,
                                          .promise = lookahead_promise,
                                          .announce = lookahead_announce,
                                          .reaction = lookahead_reaction,
                                          .late = machine_late};
    return &model;
}

static void init_parts(struct cube *cube)
{
    for (const struct part *const *part = machine_parts(); *part != NULL; part++) {
        if ((*part)->prepare != NULL)
            (*part)->prepare(cube);
        for (uint32_t pe = 0; (*part)->init != NULL && pe < cube->pes; pe++)
            (*part)->init(cube, pe);
    }
}

struct cube *cube_new(const struct machine_params *params, struct lp *lp, struct trace_sink *trace)
{
    struct cube *cube = memory_new(1, sizeof *cube);
    cube->params = params;
    cube->lp = lp;
    cube->trace = trace;
    cube->id = lp->id;
    cube->pes = grid_size(params->geometry.pes);
    cube->pe = memory_new_aligned(cube->pes, sizeof *cube->pe, 64);
    init_parts(cube);
    cube->lookahead = lookahead_new(params);
    lp_set_units(lp, cube->pes * UNITS + 1);
    lp->state = cube;
    return cube;
}

struct cube_memory cube_memory(const struct machine_params *params)
{
    uint64_t pes = grid_size(params->geometry.pes), queues = lookahead_memory(params);
    for (const struct part *const *part = machine_parts(); *part != NULL; part++)
        if ((*part)->memory != NULL)
            queues += pes * (*part)->memory(params);
    return (struct cube_memory){
        .parts = part_block(1, sizeof(struct cube)) + part_block(pes, sizeof(struct pe)),
        .queues = queues,
        .in_flight = part_block(UINT64_C(2) * FLIGHTS_START, sizeof(struct flight)) +
                     2 * part_block(UINT64_C(2) * FLIGHTS_START, sizeof(uint16_t)),
    };
}

static void free_pe(struct pe *pe)
{
    for (const struct part *const *part = machine_parts(); *part != NULL; part++)
        if ((*part)->fini != NULL)
            (*part)->fini(pe);
    if (pe->program != NULL)
        pe->program->ops->destroy(pe->program);
}

void cube_free(struct cube *cube)
{
    if (cube == NULL)
        return;
    for (uint32_t pe = 0; pe < cube->pes; pe++)
        free_pe(&cube->pe[pe]);
    lookahead_free(cube->lookahead);
    memory_free(cube->pe);
    memory_free(cube);
}

void cube_run_program(struct cube *cube, uint32_t pe, struct program *program, uint64_t emissions)
{
    uint32_t cpu = unit_of(cube->id, pe, UNIT_CPU);
    cube->pe[pe].program = program;
    cube->pe[pe].emissions = emissions;
    cube->pe[pe].cpu.state = CPU_READY;
    cpu_run_send(cube->lp, cpu, cpu, 0, (struct nothing){0});
}

void cube_set_lookahead(struct cube *cube, enum lookahead_kind kind)
{
    lookahead_choose(cube->lookahead, kind);
}

void cube_set_values(struct cube *cube, struct value_engine *values)
{
    cube->values = values;
}

void cube_result(const struct cube *cube, struct cube_result *result)
{
    memset(result, 0, sizeof *result);
    for (const struct part *const *part = machine_parts(); *part != NULL; part++)
        if ((*part)->collect_cube != NULL)
            (*part)->collect_cube(cube, result);
}

void cube_pe_result(const struct cube *cube, uint32_t number, struct pe_result *result)
{
    memset(result, 0, sizeof *result);
    for (const struct part *const *part = machine_parts(); *part != NULL; part++)
        if ((*part)->collect_pe != NULL)
            (*part)->collect_pe(cube, &cube->pe[number], result);
}

const struct machine_params *cube_params(const struct cube *cube)
{
    return cube->params;
}

uint32_t cube_id(const struct cube *cube)
{
    return cube->id;
}

uint32_t cube_pes(const struct cube *cube)
{
    return cube->pes;
}

struct lookahead *cube_lookahead(const struct cube *cube)
{
    return cube->lookahead;
}

const struct pe *cube_pe(const struct cube *cube, uint32_t pe)
{
    return &cube->pe[pe];
}

struct program *pe_program(const struct pe *pe)
{
    return pe->program;
}

uint64_t pe_emissions(const struct pe *pe)
{
    return pe->emissions;
}
