/* The check at the end of a run: every program ended, every message was taken. */
#ifndef AHBM_STUDY_DEADLOCK_H
#define AHBM_STUDY_DEADLOCK_H

#include "machine/cube.h"
#include "pdes/transport/comm.h"

/* Collective. False with the same `err` on all processes: the cycle of waits of the unfinished PEs,
 * or else a message that no recv took. */
bool deadlock_check(const struct comm *comm, const char *kernel, struct cube *const *cubes,
                    uint32_t count, uint32_t pes, struct error *err);

#endif
