/* Windows: exchange, insert, promise, agree, dispatch.
 *
 * Why it is safe (docs/adr/0003): after the exchange nothing is in flight, so whatever arrives at
 * an LP later was sent by another one that had received nothing more (not before that one's
 * promise), or in reaction to such an arrival (later still), or in reaction to what the LP itself
 * sends from now on. So an LP may go on to the least promise of the others of its group, its own
 * not counted, and until an answer to its first send could be back.
 *
 * A memoryless model (lp.h) can promise also for what is about to be exchanged: a message at time t
 * lets nothing arrive before t + reaction. Then the exchange carries the agreement, and the same
 * windows cost one synchronisation each. */
#include "pdes/core/engine_internal.h"

static void foresee(const struct engine *engine, const struct batch *batch, struct view *view)
{
    const struct lp_model *model = engine->config.model;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
        uint32_t to = event->dst >> engine->config.unit_bits;
        uint64_t reaction = model->reaction(&engine->lps[0], to);
        least_add(&view->promise[engine->group_of[to]], time_add_saturated(event->time, reaction));
        least_add(&view->next, event->time);
    }
}

/* The view of everything that this process holds, what it is about to send included. */
static struct view look_ahead(struct engine *engine)
{
    struct view view = engine_look(engine);
    foresee(engine, &engine->inside, &view);
    for (uint32_t i = 0; i < engine->boxes_count; i++)
        foresee(engine, &engine->boxes[i].out, &view);
    return view;
}

/* What was delivered may have lowered them: senders are checked against the last ones. */
static void renew_promises(struct engine *engine)
{
    for (uint32_t i = 0; i < engine->count; i++) {
        struct lp *lp = &engine->lps[i];
        if (!lp_failed(lp))
            engine_renew_promise(lp);
    }
}

/* One round up to the view that all agree on. */
static struct view agree(struct engine *engine)
{
    struct transport *transport = engine->config.transport;
    bool once = engine->config.model->memoryless;
    struct view view;
    if (once)
        view = look_ahead(engine);
    struct spent begun = engine_clock(engine);
    transport->ops->exchange(transport, view_values(&view), once ? view_count(engine) : 0);
    engine_synchronised(engine, begun);
    engine_deliver(engine);
    if (once) {
        renew_promises(engine);
        return view;
    }
    view = engine_look(engine);
    begun = engine_clock(engine);
    transport->ops->minimum(transport, view_values(&view), view_count(engine));
    engine_synchronised(engine, begun);
    return view;
}

static bool over(const struct view *view, enum engine_result *result)
{
    if (view->stopped.first == 0)
        *result = ENGINE_STOPPED;
    else if (view->failed.first != TIME_NEVER && view->next.first > view->failed.first)
        *result = ENGINE_FAILED; /* everything before it is done: no other LP failed earlier */
    else if (view->next.first == TIME_NEVER)
        *result = ENGINE_DONE;
    else
        return false;
    return true;
}

/* The limit of each LP: the least promise of the others of its group. */
static void set_limits(struct engine *engine, const struct view *view)
{
    for (uint32_t i = 0; i < engine->count; i++) {
        struct lp *lp = &engine->lps[i];
        const struct least *promise = &view->promise[engine->group_of[lp->id]];
        uint64_t limit = lp->promise == promise->first ? promise->second : promise->first;
        if (limit < lp->limit)
            error_bug("LP %u might get an event at %llu ps, and has gone on to %llu ps", lp->id,
                      (unsigned long long)limit, (unsigned long long)lp->limit);
        lp->limit = limit;
    }
}

enum engine_result window_run(struct engine *engine)
{
    enum engine_result result;
    for (bool ends = false; !ends;) {
        struct view view = agree(engine);
        engine->stats.rounds++;
        ends = over(&view, &result);
        if (!ends) {
            set_limits(engine, &view);
            engine_process(engine);
        }
    }
    return result;
}
