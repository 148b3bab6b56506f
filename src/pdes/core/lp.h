/* A logical process: one queue of events, one clock, the handlers of one model.
 *
 * An LP holds many units (event.h): the machine's LP is a CUBE and its units are engines, routers
 * and links; PHOLD's units are its objects. Units of one LP may send to each other with no delay.
 * What leaves the LP is bound by its promise (lp_model).
 */
#ifndef AHBM_PDES_LP_H
#define AHBM_PDES_LP_H

#include "pdes/core/event.h"
#include "pdes/core/queue.h"
#include "support/error.h"

struct engine;
struct lp;

typedef void lp_handler(struct lp *lp, const struct event *event);

/* What a model gives the core. */
struct lp_model {
    lp_handler *const *handlers; /* by event kind */
    const char *const *names;    /* of the kinds, for messages */
    uint32_t kinds;
    /* A time before which nothing that this LP sends can arrive at another LP if it receives
     * nothing more; `next_event` is the time of its first pending event (TIME_NEVER: none).
     * Must be later than `next_event`. Sends nothing. */
    uint64_t (*promise)(struct lp *lp, uint64_t next_event);
    /* An event from another LP was put into the queue. Sends nothing. May be NULL. */
    void (*announce)(struct lp *lp, const struct event *event);
    /* The least time between an arrival at LP `to` and the arrival elsewhere of anything sent in
     * reaction; at least 1. */
    uint64_t (*reaction)(const struct lp *lp, uint32_t to);
    /* promise() is always next_event + reaction() (or never, for an LP that nobody sends to), so
     * that what is still under way can be promised for: a round takes one synchronisation, not two.
     */
    bool memoryless;
    /* Unit `src` sends an event that would come at TIME_LAST or later: puts an error in the model's
     * words into lp->error. May be NULL. */
    void (*late)(struct lp *lp, uint32_t src);
};

/* Bytes that travel with an event. */
struct payload {
    void *data;
    uint32_t bytes, capacity;
};

struct lp {
    struct queue queue;
    uint64_t now;     /* time of the event being dispatched */
    uint64_t promise; /* the last one given */
    uint64_t arrival; /* least time of what has arrived since */
    uint64_t limit;   /* earlier events may be dispatched: nothing more arrives before it */
    uint64_t events;  /* dispatched so far */
    uint64_t digest;  /* over the dispatched events */
    const struct lp_model *model;
    void *state;   /* the model's */
    uint32_t *seq; /* next sequence number of each unit */
    struct engine *engine;
    struct payload *payloads; /* of pending events; handle 0 is none */
    uint16_t *free_payloads;
    uint32_t payloads_count, free_payloads_count;
    uint32_t id;
    uint32_t units;
    struct event current; /* the event being dispatched */
    struct error error;   /* the first error of this LP: it dispatches no more */
};

/* Sends an event from unit `src` of this LP to unit `dst` of any LP. The caller fills the
 * arguments (zero) through the result before the next send. Sending into the past, or to another
 * LP before the promise, is a bug that stops the run and names both events. At TIME_LAST simulated
 * time has run out: that ends this LP's run with an error. */
struct event *lp_send(struct lp *lp, uint32_t src, uint32_t dst, uint16_t kind, uint64_t time);

/* Gives the event that was just sent a payload of `bytes` (at least 1), which the caller fills
 * through the result before the next send. */
void *lp_attach(struct lp *lp, struct event *event, uint32_t bytes);

/* The payload of this handle (event.payload), NULL for handle 0; valid until the next call of
 * lp_attach(), lp_forward() or lp_drop() for this LP. */
const void *lp_payload(const struct lp *lp, uint16_t handle, uint32_t *bytes);

/* Passes a payload on to `to`, which was just sent. Whoever handles an event with a payload keeps
 * its handle, forwards it or drops it. */
void lp_forward(struct lp *lp, uint16_t handle, struct event *to);
void lp_drop(struct lp *lp, uint16_t handle);

/* Whether this LP has an error (lp->error, which a handler sets to end the LP's run). Of the errors
 * of several LPs the engine reports the one whose event comes first in the total order. */
static inline bool lp_failed(const struct lp *lp)
{
    return lp->error.code != ERROR_NONE;
}

#endif
