/* What engine.c shares with the synchronisation algorithms. */
#ifndef AHBM_PDES_ENGINE_INTERNAL_H
#define AHBM_PDES_ENGINE_INTERNAL_H

#include "pdes/engine.h"

struct engine {
    struct engine_config config;
    struct lp *lps; /* of this process */
    uint32_t first;
    uint32_t count;
    struct mailbox *boxes; /* one per neighbouring process */
    uint32_t *box_of;      /* by rank: its mailbox, NO_MAILBOX */
    uint32_t boxes_count;
    struct batch inside; /* between LPs of this process: the path of remote ones */
    struct engine_stats stats;
};

/* Moves what lies in `inside` and the mailboxes' `in` into the queues. */
void engine_deliver(struct engine *engine);

/* Dispatches this process's events with time < `limit`; returns early once `stop` is set. */
void engine_process(struct engine *engine, uint64_t limit);

/* The window algorithm (docs/adr/0003). */
enum engine_result sync_window_run(struct engine *engine);

#endif
