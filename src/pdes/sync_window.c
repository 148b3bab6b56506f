/* Windows: exchange, insert, promise, global minimum G, dispatch everything before G.
 *
 * Why it is safe (docs/adr/0003): after the exchange nothing is in flight, so whatever arrives
 * later was sent either by an LP that had received nothing more (not before its promise, hence not
 * before G) or in reaction to such an arrival (later still). G never falls. */
#include <time.h>

#include "pdes/engine_internal.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct window {
    uint64_t promise; /* least promise */
    uint64_t next;    /* least time of a pending event */
    uint64_t failed;  /* 0 when an LP failed, else 1 */
    uint64_t stopped; /* 0 when a process was told to stop, else 1 */
};

enum { WINDOW_WORDS = sizeof(struct window) / sizeof(uint64_t) };

static struct window look(struct engine *engine)
{
    struct window window = {TIME_NEVER, TIME_NEVER, 1, 1};
    for (uint32_t i = 0; i < engine->count; i++) {
        struct lp *lp = &engine->lps[i];
        uint64_t next = queue_next_time(&lp->queue);
        if (!lp_failed(lp))
            lp->promise = lp->model->promise(lp, next);
        if (lp_failed(lp)) { /* in a handler, in announce() or in promise() */
            window.failed = 0;
            continue;
        }
        window.promise = time_min(window.promise, lp->promise);
        window.next = time_min(window.next, next);
    }
    const volatile sig_atomic_t *stop = engine->config.stop;
    window.stopped = !(stop && *stop);
    return window;
}

enum engine_result sync_window_run(struct engine *engine)
{
    struct transport *transport = engine->config.transport;
    uint64_t last = 0, promise = 0;
    double mark = seconds();
    for (;;) {
        transport->ops->exchange(transport, promise);
        double exchanged = seconds();
        engine_deliver(engine);
        struct window window = look(engine);
        promise = window.promise;
        double looked = seconds();
        transport->ops->minimum(transport, (uint64_t *)&window, WINDOW_WORDS);
        engine->stats.rounds++;
        double agreed = seconds();
        engine->stats.sync_s += (exchanged - mark) + (agreed - looked);
        engine->stats.model_s += looked - exchanged;
        if (window.stopped == 0)
            return ENGINE_STOPPED;
        if (window.failed == 0)
            return ENGINE_FAILED;
        if (window.next == TIME_NEVER)
            return ENGINE_DONE;
        if (window.promise <= window.next || window.promise < last)
            error_bug(
                "no progress: least promise %llu ps, first event %llu ps, last window %llu ps",
                (unsigned long long)window.promise, (unsigned long long)window.next,
                (unsigned long long)last);
        last = window.promise;
        engine_process(engine, window.promise);
        mark = seconds();
        engine->stats.model_s += mark - agreed;
    }
}
