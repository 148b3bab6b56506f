/* What engine.c shares with the windows. */
#ifndef AHBM_PDES_ENGINE_INTERNAL_H
#define AHBM_PDES_ENGINE_INTERNAL_H

#include "pdes/core/engine.h"
#include "support/clock.h"

struct engine {
    struct engine_config config;
    struct lp *lps; /* of this process */
    uint32_t first;
    uint32_t count;
    struct mailbox *boxes; /* one per neighbouring process */
    uint32_t *box_of;      /* by rank: its mailbox, NO_MAILBOX */
    uint32_t boxes_count;
    struct batch inside; /* between LPs of this process: the path of remote ones */
    uint8_t *group_of;   /* by LP */
    uint32_t groups;
    struct engine_stats stats;
    struct spent sync; /* exchanging and waiting */
};

/* What the processes agree on. */
struct view {
    struct least next;    /* times of pending events */
    struct least failed;  /* times at which LPs failed */
    struct least stopped; /* 0 when a process was told to stop, else 1 */
    struct least promise[ENGINE_GROUPS];
};

enum { VIEW_FIXED = 3 };

_Static_assert(VIEW_FIXED + ENGINE_GROUPS <= ROUND_VALUES, "a view fits a round");

/* Renews the promises of this process's LPs; a failed LP sends nothing more. */
struct view engine_look(struct engine *engine);

/* Gives the LP a new promise. */
void engine_renew_promise(struct lp *lp);

/* The processor's only when the processes share them. */
struct spent engine_clock(const struct engine *engine);

/* Since `begun` this process was exchanging or waiting. */
void engine_synchronised(struct engine *engine, struct spent begun);

/* A view as values for the transport, and how many. */
static inline struct least *view_values(struct view *view)
{
    return &view->next;
}

static inline uint32_t view_count(const struct engine *engine)
{
    return VIEW_FIXED + engine->groups;
}

/* Moves what lies in `inside` and in the mailboxes' `in` into the queues. */
void engine_deliver(struct engine *engine);

/* Dispatches this process's events before the LPs' limits; returns early once `stop` is set. An LP
 * that sends to another lowers its own limit: an answer may come. */
void engine_process(struct engine *engine);

/* The run itself (docs/adr/0003). */
enum engine_result window_run(struct engine *engine);

#endif
