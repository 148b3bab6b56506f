/* Simulates one point: machine, programs, run, measurements. */
#ifndef AHBM_STUDY_POINT_H
#define AHBM_STUDY_POINT_H

#include "machine/cube.h"
#include "machine/message.h"
#include "results/spool.h"
#include "pdes/core/engine.h"
#include "pdes/transport/comm.h"
#include "study/problem.h"
#include "values/engine.h"

/* The machine of a point. */
struct point {
    const struct comm *comm;
    const struct problem *problem;
    struct engine *engine;
    const struct study_options *options;
    const volatile sig_atomic_t *stop; /* of the options */
    struct cube **cubes;               /* of this process */
    struct value_source *source;       /* NULL: nothing computes */
    struct value_engine **values;      /* [count]; NULL for a left-over CUBE, or without a source */
    uint64_t *emissions;               /* [count][pes] (traffic_tell()) */
    uint32_t first, count;
};

/* What this process's CUBEs measured. */
struct measurement {
    struct cube_result *cubes;    /* [count] */
    struct pe_result *pes;        /* [count][pes] */
    struct footprint *footprints; /* [count][pes] */
    struct cube_footprint *rooms; /* [count] */
    struct engine_stats stats;
};

/* Builds the machine and loads the programs. `trace` NULL records nothing. `source` (borrowed)
 * NULL: commands take time and compute nothing. Collective. */
void point_init(struct point *point, const struct comm *comm, const struct problem *problem,
                struct transport *transport, const struct study_options *options,
                struct spool *trace, struct value_source *source);
void point_fini(struct point *point);

/* Runs to the end and checks that every program ended and every message was taken: otherwise
 * ENGINE_FAILED with the cycle of waits or the message. Collective. */
enum engine_result point_run(struct point *point, struct error *err);

/* After a run that is done. */
void point_measure(const struct point *point, struct measurement *measurement);
void measurement_fini(struct measurement *measurement);

#endif
