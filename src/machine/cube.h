/* One CUBE: the LP of the machine. PEs with their parts, the stack's shares, routers and links. */
#ifndef AHBM_MACHINE_CUBE_H
#define AHBM_MACHINE_CUBE_H

#include "machine/params.h"
#include "machine/result.h"
#include "machine/trace.h"
#include "pdes/core/lp.h"
#include "prog/program.h"
#include "prog/values.h"

struct cube;

/* What promises are made from: the scout's records, or only the latency of a link (for comparison).
 */
enum lookahead_kind { LOOKAHEAD_SCOUT, LOOKAHEAD_LINK };

/* Handlers, promise and names for the engine. */
const struct lp_model *cube_model(void);

/* Makes the CUBE whose number is lp->id and becomes lp->state. Borrows all three; `trace` NULL
 * records nothing. */
struct cube *cube_new(const struct machine_params *params, struct lp *lp, struct trace_sink *trace);
void cube_free(struct cube *cube);

/* Bytes of memory that a CUBE takes, without its LP: its parts, what `params` make its queues take,
 * and the commands in flight of a PE that has a usual program. */
struct cube_memory {
    uint64_t parts, queues, in_flight;
};
struct cube_memory cube_memory(const struct machine_params *params);

/* Gives PE `pe` its program, which starts at time 0 and has so many commands that make something
 * leave the CUBE (flows_add(); UINT64_MAX: not known). The CUBE owns it from now on. */
void cube_run_program(struct cube *cube, uint32_t pe, struct program *program, uint64_t emissions);

/* Lets commands compute (NULL: not). Borrowed. Before the run. */
void cube_set_values(struct cube *cube, struct value_engine *values);

/* LOOKAHEAD_SCOUT unless told otherwise. Before the run. */
void cube_set_lookahead(struct cube *cube, enum lookahead_kind kind);

/* After the run. */
void cube_result(const struct cube *cube, struct cube_result *result);
void cube_pe_result(const struct cube *cube, uint32_t pe, struct pe_result *result);

/* Why a PE did not finish, or what it left behind; for the report of a deadlock. */
struct pe_wait {
    uint32_t unit;      /* CPU unit of the PE */
    uint32_t waits_for; /* CPU unit it waits for; its own when it waits for itself */
    char text[240];     /* "CUBE 0 PE 7 waits at command 57 (recv pe.W, reduce.c:88)" */
};

/* Fills up to `room` entries with the PEs that are not at their program's end; returns how many. */
uint32_t cube_unfinished(const struct cube *cube, struct pe_wait *waits, uint32_t room);

/* A message that no recv took: true, and `err` says which. */
bool cube_leftover(const struct cube *cube, struct error *err);

#endif
