/* Lookahead: how far a CUBE can promise to send nothing (docs/adr/0003). It asks the parts for
 * bounds and reads none of their state; its own are the scout's emissions and the packets that
 * other CUBEs have announced. */
#ifndef AHBM_MACHINE_LOOKAHEAD_H
#define AHBM_MACHINE_LOOKAHEAD_H

#include "machine/cube.h"

struct lookahead;

struct lookahead *lookahead_new(const struct machine_params *params);
/* Bytes that it takes for a CUBE, as if every queue had been used. */
uint64_t lookahead_memory(const struct machine_params *params);
void lookahead_free(struct lookahead *lookahead);
void lookahead_choose(struct lookahead *lookahead, enum lookahead_kind kind);

/* The engine's calls (pdes/core/lp.h). */
uint64_t lookahead_promise(struct lp *lp, uint64_t next_event);
uint64_t lookahead_reaction(const struct lp *lp, uint32_t to);
void lookahead_announce(struct lp *lp, const struct event *event);

/* A packet that was announced is being handled. */
void lookahead_arrived(struct cube *cube, const struct event *event);

/* The CPU of PE `pe` issues a command, after so much serial work (cpu_serial_ps()). False: its
 * scout did not foresee it, or not then. */
bool lookahead_issued(struct lookahead *lookahead, uint32_t pe, struct program *program,
                      const struct command *command, uint64_t serial_ps);

#endif
