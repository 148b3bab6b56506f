/* The engine: LPs, their partition over the processes of a transport, and the run.
 *
 * LP i of n belongs to the process engine_owner() names: contiguous blocks whose sizes differ by at
 * most one. A process may own none. The engine has no process-wide state: several may exist.
 */
#ifndef AHBM_PDES_ENGINE_H
#define AHBM_PDES_ENGINE_H

#include <signal.h>

#include "pdes/core/lp.h"
#include "pdes/transport/transport.h"

struct engine_config {
    uint32_t lps;       /* in the whole model */
    uint32_t unit_bits; /* a unit is (lp << unit_bits) | number within the LP */
    const struct lp_model *model;
    struct transport *transport;       /* borrowed; one engine at a time */
    const volatile sig_atomic_t *stop; /* the run ends early when it becomes non-zero; or NULL */
    enum queue_kind queue;
    bool crowded; /* more processes than processors: tell their time apart (a little slower) */
};

/* What a run did, over all processes unless said otherwise. */
struct engine_stats {
    uint64_t events;   /* dispatched by this process */
    uint64_t rounds;   /* exchanges: each begins a window */
    uint64_t messages; /* sent by this process */
    uint64_t message_bytes;
    uint64_t lp_events_max; /* of the busiest LP of this process */
    /* Sum over rounds of the events of the LP that had most of this process's: what is left to do
     * one after another when every LP has a processor. */
    uint64_t critical_events;
    double model_s; /* this process, in handlers and promises */
    double sync_s;  /* this process, exchanging and waiting */
    /* Of a processor, within model_s: less, when this process had to wait for one. */
    double model_processor_s;
};

enum engine_result {
    ENGINE_DONE,    /* every queue is empty */
    ENGINE_FAILED,  /* an LP failed: the error says what */
    ENGINE_STOPPED, /* `stop` was set */
};

struct engine *engine_new(const struct engine_config *config);

/* Bytes of memory that an LP of `units` takes with up to `events` pending. */
uint64_t engine_lp_memory(uint32_t units, uint32_t events);
void engine_free(struct engine *engine);

/* The process that owns `lp`, and the block of LPs [*first, *first + *count) that `rank` owns. */
uint32_t engine_owner(uint32_t lps, uint32_t size, uint32_t lp);
void engine_block(uint32_t lps, uint32_t size, uint32_t rank, uint32_t *first, uint32_t *count);

/* An LP of this process; NULL for another's. Before the run the caller sets `state` and calls
 * lp_set_units(). */
struct lp *engine_lp(struct engine *engine, uint32_t lp);
void lp_set_units(struct lp *lp, uint32_t units);

/* Declares that LPs `a` and `b` may send to each other. Every process makes all the calls that
 * concern its LPs (more do no harm). Before the run only. */
void engine_connect(struct engine *engine, uint32_t a, uint32_t b);

/* Puts an LP into one of ENGINE_GROUPS groups (0 at first). LPs of different groups never send to
 * each other, so that none waits for another group's promises. Every process tells the group of
 * every LP. Before the run only. */
enum { ENGINE_GROUPS = 16 };
void engine_set_group(struct engine *engine, uint32_t lp, uint32_t group);

/* Runs until every queue is empty. Collective; all processes return the same result, and the same
 * error: the one whose event comes first in the total order. */
enum engine_result engine_run(struct engine *engine, struct error *err);

void engine_get_stats(const struct engine *engine, struct engine_stats *stats);

#endif
