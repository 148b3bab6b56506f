/* Promises between neighbouring processes, on demand (docs/adr/0010).
 *
 * A process works through everything before its horizon, the least promise that it holds of the
 * neighbours that still have something to send. At its horizon it demands of those that hold it
 * back a promise beyond its next event; a neighbour answers as soon as it can, and only then, so
 * nobody creeps. Processes that wait for each other in a circle come to rest, as they do at the end
 * and in a deadlock: the tally finds that all have, and that nothing is in flight. Then all look
 * together, as a window does: the least promise of all becomes everybody's horizon, whatever lies
 * between. */
#include <sched.h>

#include "pdes/engine_internal.h"

struct null_run {
    struct engine *engine;
    uint64_t floor;    /* nothing arrives before it: of the last common look */
    uint64_t horizon;  /* nothing arrives from another process before it */
    uint64_t reaction; /* least, of this process's LPs */
    struct view view;
    uint64_t own;   /* least promise of this process's LPs */
    uint64_t taken; /* messages */
    bool tallying;
    uint64_t tally[TALLY_WORDS]; /* of the tally before */
};

static uint64_t held(const struct null_run *run, uint32_t i)
{
    const struct engine *engine = run->engine;
    if (engine->flows[i].from == 0)
        return TIME_NEVER;
    return time_max(run->floor, engine->boxes[i].heard.promise);
}

static void renew_horizon(struct null_run *run)
{
    run->horizon = TIME_NEVER;
    for (uint32_t i = 0; i < run->engine->boxes_count; i++)
        run->horizon = time_min(run->horizon, held(run, i));
}

static void use_flow(uint64_t *left, uint32_t events, uint32_t peer)
{
    if (*left == UINT64_MAX)
        return;
    if (events > *left)
        error_bug("%u events with rank %u, of %llu that were declared", events, peer,
                  (unsigned long long)*left);
    *left -= events;
}

static uint64_t received(const struct engine *engine)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < engine->boxes_count; i++)
        sum += engine->boxes[i].received;
    return sum;
}

/* Takes what has come, now or while this process was sending. False: nothing. */
static bool receive(struct null_run *run)
{
    struct engine *engine = run->engine;
    engine->config.transport->ops->poll(engine->config.transport);
    uint64_t count = received(engine);
    if (count == run->taken)
        return false;
    run->taken = count;
    engine_deliver(engine);
    for (uint32_t i = 0; i < engine->boxes_count; i++) {
        struct mailbox *box = &engine->boxes[i];
        use_flow(&engine->flows[i].from, box->in.count, box->peer);
        batch_clear(&box->in);
    }
    renew_horizon(run);
    return true;
}

static bool stopped(const struct engine *engine)
{
    return engine->config.stop && *engine->config.stop;
}

static uint64_t least_promise(const struct engine *engine, const struct view *view)
{
    uint64_t least = TIME_NEVER;
    for (uint32_t group = 0; group < engine->groups; group++)
        least = time_min(least, view->promise[group].first);
    return least;
}

/* Works up to the horizon, in windows of this process's own LPs. */
static void advance(struct null_run *run)
{
    struct engine *engine = run->engine;
    for (;;) {
        run->view = engine_look(engine);
        run->own = least_promise(engine, &run->view);
        uint64_t limit = time_min(run->own, run->horizon);
        if (run->view.next.first >= limit || stopped(engine))
            return;
        engine_limit(engine, limit);
        engine_process(engine);
        engine_deliver_inside(engine);
    }
}

/* Nothing leaves this process before it. */
static uint64_t promise_of(const struct null_run *run)
{
    uint64_t reaction = time_add_saturated(run->horizon, run->reaction);
    return time_min(run->own, reaction);
}

/* What this process needs its horizon to pass next: its own event, or what others demand. */
static uint64_t need_of(const struct null_run *run)
{
    const struct engine *engine = run->engine;
    uint64_t need = run->view.next.first, promise = promise_of(run);
    for (uint32_t i = 0; i < engine->boxes_count; i++) {
        uint64_t demand = engine->boxes[i].heard.demand;
        if (demand != TIME_NEVER && promise <= demand && run->own > demand)
            need = time_min(need, demand > run->reaction ? demand - run->reaction : 0);
    }
    return need;
}

static void check_sends(const struct mailbox *box)
{
    for (uint32_t i = 0; i < box->out.count; i++)
        if (box->out.events[i].time < box->tell.promise)
            error_bug("an event for unit %u at %llu ps is before the promise to rank %u (%llu ps)",
                      box->out.events[i].dst, (unsigned long long)box->out.events[i].time,
                      box->peer, (unsigned long long)box->tell.promise);
}

/* What to ask of a neighbour: one demand at a time, and never a lower one, so that demands that go
 * round in a circle end. TIME_NEVER: nothing new. */
static uint64_t demand_of(const struct null_run *run, uint32_t i, uint64_t need)
{
    uint64_t have = held(run, i), asked = run->engine->flows[i].asked;
    if (need == TIME_NEVER || have > need)
        return TIME_NEVER;
    bool open = asked != TIME_NEVER && have <= asked;
    return open && need <= asked ? TIME_NEVER : need;
}

/* Sends what there is for a neighbour, what it wants to know, and what this process does. */
static void serve(struct null_run *run, uint32_t i, uint64_t promise, uint64_t need)
{
    struct engine *engine = run->engine;
    struct mailbox *box = &engine->boxes[i];
    struct flow *flow = &engine->flows[i];
    uint64_t demand = demand_of(run, i, need);
    bool ask = demand != TIME_NEVER;
    check_sends(box);
    use_flow(&flow->to, box->out.count, box->peer);
    if (flow->to == 0)
        promise = TIME_NEVER;
    bool answer = box->heard.demand != TIME_NEVER && promise > box->heard.demand;
    if (box->out.count == 0 && !ask && !answer)
        return;
    promise = time_max(promise, box->tell.promise); /* what was told still holds */
    box->tell = (struct note){promise, demand};
    if (ask)
        flow->asked = demand;
    if (promise > box->heard.demand)
        box->heard.demand = TIME_NEVER;
    engine->config.transport->ops->post(engine->config.transport, box);
}

static void serve_all(struct null_run *run)
{
    uint64_t promise = promise_of(run), need = need_of(run);
    for (uint32_t i = 0; i < run->engine->boxes_count; i++)
        serve(run, i, promise, need);
}

static void start_tally(struct null_run *run)
{
    struct engine *engine = run->engine;
    uint64_t values[TALLY_WORDS] = {0};
    for (uint32_t i = 0; i < engine->boxes_count; i++)
        values[0] += engine->boxes[i].posted;
    values[1] = run->taken;
    engine->config.transport->ops->tally_start(engine->config.transport, values);
    run->tallying = true;
}

/* Whether all processes are at rest and nothing is in flight: two tallies in a row find as many
 * messages received as sent, and the same number of them. */
static bool all_at_rest(struct null_run *run)
{
    struct transport *transport = run->engine->config.transport;
    uint64_t sums[TALLY_WORDS];
    if (!run->tallying)
        start_tally(run);
    if (!transport->ops->tally_done(transport, sums))
        return false;
    run->tallying = false;
    bool rest = sums[0] == sums[1] && sums[0] == run->tally[0] && sums[1] == run->tally[1];
    run->tally[0] = sums[0];
    run->tally[1] = sums[1];
    return rest;
}

/* The common look of processes at rest. True: the run is over. */
static bool look_together(struct null_run *run, enum engine_result *result)
{
    struct engine *engine = run->engine;
    struct transport *transport = engine->config.transport;
    struct view view = run->view;
    transport->ops->minimum(transport, view_values(&view), view_count(engine));
    engine->stats.rounds++;
    uint64_t next = view.next.first, least = least_promise(engine, &view);
    bool failed = view.failed.first != TIME_NEVER && next > view.failed.first;
    if (view.stopped.first == 0 || failed || next == TIME_NEVER) {
        *result = view.stopped.first == 0 ? ENGINE_STOPPED : failed ? ENGINE_FAILED : ENGINE_DONE;
        return true;
    }
    run->floor = time_max(run->floor, least); /* what was promised still holds */
    renew_horizon(run);
    return false;
}

static void begin(struct null_run *run, struct engine *engine)
{
    *run = (struct null_run){.engine = engine, .reaction = TIME_NEVER};
    run->tally[0] = UINT64_MAX;
    for (uint32_t i = 0; i < engine->count; i++) {
        const struct lp *lp = &engine->lps[i];
        run->reaction = time_min(run->reaction, lp->model->reaction(lp, lp->id));
    }
    for (uint32_t i = 0; i < engine->boxes_count; i++) {
        struct mailbox *box = &engine->boxes[i];
        box->tell = box->heard = (struct note){0, TIME_NEVER};
        if (!engine->flows_declared)
            engine->flows[i] = (struct flow){UINT64_MAX, UINT64_MAX, 0};
        engine->flows[i].asked = TIME_NEVER;
    }
    engine_deliver_inside(engine);
    renew_horizon(run);
}

enum engine_result sync_null_run(struct engine *engine)
{
    struct null_run run;
    enum engine_result result;
    begin(&run, engine);
    for (bool over = false, fresh = true; !over;) {
        if (fresh)
            advance(&run);
        struct spent advanced = engine_clock(engine);
        if (fresh)
            serve_all(&run);
        fresh = receive(&run);
        if (!fresh && all_at_rest(&run)) {
            over = look_together(&run, &result);
            fresh = true;
        } else if (!fresh) {
            sched_yield();
        }
        engine_synchronised(engine, advanced);
    }
    return result;
}
