/* The engine on the in-process transport, and with a transport that only pretends to be one of many
 * processes: partition, dispatch, the checks that stop a wrong model, and how a run ends. */
#include <CUnit/Basic.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pdes/core/engine.h"

enum { PING, PONG, KINDS };
enum { DELAY = 10, UNIT_BITS = 2 };

/* What the small models share: a counter per LP and what the test wants to happen. */
struct state {
    uint32_t hops;
    uint64_t last;
};

static struct {
    uint64_t fail_time[8]; /* by LP: fail at the first event at or after this time; 0: never */
    uint64_t stop_at;      /* raise `stop` in the event of this time */
    uint64_t lookahead;
    void (*misbehave)(struct lp *lp, const struct event *event);
} plan;

static volatile sig_atomic_t stop;

static uint32_t unit_of(uint32_t lp, uint32_t number)
{
    return lp << UNIT_BITS | number;
}

static void on_ping(struct lp *lp, const struct event *event)
{
    struct state *state = lp->state;
    state->hops++;
    state->last = event->time;
    if (plan.misbehave)
        plan.misbehave(lp, event);
    if (plan.fail_time[lp->id] != 0 && event->time >= plan.fail_time[lp->id])
        error_set(&lp->error, ERROR_FAILED, "LP %u gave up at %llu ps", lp->id,
                  (unsigned long long)event->time);
    if (event->time == plan.stop_at)
        stop = 1;
    if (event->arg[0] == 0)
        return;
    uint16_t kind = event->kind == PING ? PONG : PING;
    struct event *next = lp_send(lp, event->dst, event->src, kind, event->time + DELAY);
    next->arg[0] = event->arg[0] - 1;
}

static uint64_t promise(struct lp *lp, uint64_t next_event)
{
    (void)lp;
    return time_add_saturated(next_event, plan.lookahead);
}

static uint64_t reaction(const struct lp *lp, uint32_t to)
{
    (void)lp, (void)to;
    return plan.lookahead;
}

static lp_handler *const handlers[KINDS] = {on_ping, on_ping};
static const char *const names[KINDS] = {"ping", "pong"};
static const struct lp_model model = {handlers, names, KINDS, promise, NULL, reaction, false, NULL};

struct fixture {
    struct transport *transport;
    struct engine *engine;
    struct state states[8];
    struct error error;
};

static void open_fixture(struct fixture *fixture, uint32_t lps)
{
    memset(&plan, 0, sizeof plan);
    memset(fixture, 0, sizeof *fixture);
    plan.lookahead = DELAY;
    plan.stop_at = TIME_NEVER;
    stop = 0;
    fixture->transport = transport_local_new();
    struct engine_config config = {lps,   UNIT_BITS,     &model, fixture->transport,
                                   &stop, QUEUE_DEFAULT, false};
    fixture->engine = engine_new(&config);
    for (uint32_t i = 0; i < lps; i++) {
        struct lp *lp = engine_lp(fixture->engine, i);
        lp->state = &fixture->states[i];
        lp_set_units(lp, 1u << UNIT_BITS);
    }
}

static void close_fixture(struct fixture *fixture)
{
    engine_free(fixture->engine);
    fixture->transport->ops->destroy(fixture->transport);
}

/* `hops` messages between unit 1 of LP `a` and unit 2 of LP `b`, the first at `time`. */
static void serve(struct fixture *fixture, uint32_t a, uint32_t b, uint64_t time, uint64_t hops)
{
    engine_connect(fixture->engine, a, b);
    struct lp *lp = engine_lp(fixture->engine, a);
    lp_send(lp, unit_of(a, 1), unit_of(b, 2), PING, time)->arg[0] = hops;
}

static void check_partition(uint32_t lps, uint32_t size)
{
    uint32_t next = 0, least = UINT32_MAX, most = 0;
    for (uint32_t rank = 0; rank < size; rank++) {
        uint32_t first, count;
        engine_block(lps, size, rank, &first, &count);
        CU_ASSERT_EQUAL_FATAL(first, next);
        for (uint32_t lp = first; lp < first + count; lp++)
            CU_ASSERT_EQUAL_FATAL(engine_owner(lps, size, lp), rank);
        next += count;
        least = count < least ? count : least;
        most = count > most ? count : most;
    }
    CU_ASSERT_EQUAL(next, lps);
    CU_ASSERT_TRUE(most - least <= 1);
}

static void test_partition(void)
{
    for (uint32_t lps = 1; lps <= 70; lps++)
        for (uint32_t size = 1; size <= 40; size++)
            check_partition(lps, size);
    check_partition(16384, 16);
    check_partition(16384, 1000);
    check_partition(100000, 99999);
    check_partition(3, 4096);
}

static void test_ping_pong(void)
{
    struct fixture f;
    struct engine_stats stats;
    open_fixture(&f, 2);
    serve(&f, 0, 1, 100, 999);
    CU_ASSERT_EQUAL(engine_run(f.engine, &f.error), ENGINE_DONE);
    CU_ASSERT_EQUAL(f.states[0].hops, 500);
    CU_ASSERT_EQUAL(f.states[1].hops, 500);
    CU_ASSERT_EQUAL(f.states[0].last, 100 + 999 * DELAY);
    CU_ASSERT_EQUAL(engine_lp(f.engine, 1)->now, 100 + 998 * DELAY);
    CU_ASSERT_EQUAL(f.error.code, ERROR_NONE);
    engine_get_stats(f.engine, &stats);
    CU_ASSERT_EQUAL(stats.events, 1000);
    CU_ASSERT_EQUAL(stats.lp_events_max, 500);
    CU_ASSERT_TRUE(stats.rounds >= 1000);
    CU_ASSERT_EQUAL(stats.messages, 0);
    CU_ASSERT_NOT_EQUAL(engine_lp(f.engine, 0)->digest, engine_lp(f.engine, 1)->digest);
    CU_ASSERT_PTR_NULL(engine_lp(f.engine, 2));
    close_fixture(&f);
}

static uint64_t digest_of(uint64_t start, uint64_t hops, uint32_t b)
{
    struct fixture f;
    open_fixture(&f, 3);
    serve(&f, 0, b, start, hops);
    CU_ASSERT_EQUAL(engine_run(f.engine, &f.error), ENGINE_DONE);
    uint64_t digest = engine_lp(f.engine, 0)->digest;
    close_fixture(&f);
    return digest;
}

static void test_digest_sees_the_run(void)
{
    uint64_t digest = digest_of(100, 9, 1);
    CU_ASSERT_EQUAL(digest, digest_of(100, 9, 1));
    CU_ASSERT_NOT_EQUAL(digest, digest_of(101, 9, 1));
    CU_ASSERT_NOT_EQUAL(digest, digest_of(100, 11, 1));
    CU_ASSERT_NOT_EQUAL(digest, digest_of(100, 9, 2));
}

static void test_nothing_to_do(void)
{
    struct fixture f;
    open_fixture(&f, 3);
    CU_ASSERT_EQUAL(engine_run(f.engine, &f.error), ENGINE_DONE);
    close_fixture(&f);
}

static void test_units_of_one_lp_need_no_delay(void)
{
    struct fixture f;
    open_fixture(&f, 1);
    plan.lookahead = 1;
    serve(&f, 0, 0, 0, 50);
    CU_ASSERT_EQUAL(engine_run(f.engine, &f.error), ENGINE_DONE);
    CU_ASSERT_EQUAL(f.states[0].hops, 51);
    close_fixture(&f);
}

/* A process that owns no LP must take part in a run and end with it. */
static void test_process_without_lps(void)
{
    struct transport *transport = transport_local_new();
    transport->rank = 3;
    transport->size = 4;
    struct engine_config config = {2, UNIT_BITS, &model, transport, NULL, QUEUE_DEFAULT, false};
    struct engine *engine = engine_new(&config);
    struct error error = {ERROR_NONE, ""};
    engine_connect(engine, 0, 1);
    CU_ASSERT_PTR_NULL(engine_lp(engine, 0));
    CU_ASSERT_PTR_NULL(engine_lp(engine, 3));
    CU_ASSERT_EQUAL(engine_run(engine, &error), ENGINE_DONE);
    engine_free(engine);
    transport->ops->destroy(transport);
}

static void test_first_failure_wins(void)
{
    struct fixture f;
    open_fixture(&f, 6);
    plan.lookahead = DELAY;
    plan.fail_time[2] = 107; /* found first: LP 2 is dispatched before LP 4 */
    plan.fail_time[4] = 105;
    plan.fail_time[0] = 5000;
    serve(&f, 2, 2, 107, 9);
    serve(&f, 4, 4, 105, 9);
    serve(&f, 0, 1, 100, 9999);
    CU_ASSERT_EQUAL(engine_run(f.engine, &f.error), ENGINE_FAILED);
    CU_ASSERT_EQUAL(f.error.code, ERROR_FAILED);
    CU_ASSERT_STRING_EQUAL(f.error.text, "LP 4 gave up at 105 ps");
    CU_ASSERT_EQUAL(f.states[2].hops, 1);
    close_fixture(&f);

    open_fixture(&f, 6); /* at one time the lower unit comes first */
    plan.fail_time[5] = plan.fail_time[3] = 105;
    serve(&f, 5, 5, 105, 9);
    serve(&f, 3, 3, 105, 9);
    CU_ASSERT_EQUAL(engine_run(f.engine, &f.error), ENGINE_FAILED);
    CU_ASSERT_STRING_EQUAL(f.error.text, "LP 3 gave up at 105 ps");
    close_fixture(&f);
}

static uint64_t failing_promise(struct lp *lp, uint64_t next_event)
{
    if (next_event == TIME_NEVER)
        error_set(&lp->error, ERROR_FAILED, "LP %u waits for ever", lp->id);
    return time_add_saturated(next_event, DELAY);
}

/* An error found while promising counts, even when no event is left. */
static void test_failure_outside_a_handler(void)
{
    static const struct lp_model waits = {handlers, names,    KINDS, failing_promise,
                                          NULL,     reaction, false, NULL};
    struct fixture f;
    open_fixture(&f, 1);
    engine_lp(f.engine, 0)->model = &waits;
    serve(&f, 0, 0, 100, 3);
    CU_ASSERT_EQUAL(engine_run(f.engine, &f.error), ENGINE_FAILED);
    CU_ASSERT_STRING_EQUAL(f.error.text, "LP 0 waits for ever");
    CU_ASSERT_EQUAL(f.states[0].hops, 4);
    close_fixture(&f);
}

static void in_own_words(struct lp *lp, uint32_t src)
{
    error_set(&lp->error, ERROR_FAILED, "unit %u is too late", src);
}

/* Time that runs out fails the run at the event that causes it. */
static void test_time_runs_out(void)
{
    static const struct lp_model tells = {handlers, names,    KINDS, promise,
                                          NULL,     reaction, false, in_own_words};
    struct fixture f;
    open_fixture(&f, 2);
    serve(&f, 0, 0, TIME_LAST - 1 - DELAY, 3);
    CU_ASSERT_EQUAL(engine_run(f.engine, &f.error), ENGINE_FAILED);
    CU_ASSERT_EQUAL(f.error.code, ERROR_FAILED);
    CU_ASSERT_STRING_EQUAL(f.error.text, "simulated time runs out: event ping of unit 1 would come "
                                         "after 2^62 ps (53 days)");
    CU_ASSERT_EQUAL(f.states[0].hops, 2);
    close_fixture(&f);

    open_fixture(&f, 2); /* from one LP to another */
    engine_lp(f.engine, 0)->model = engine_lp(f.engine, 1)->model = &tells;
    serve(&f, 0, 1, TIME_LAST - DELAY, 3);
    CU_ASSERT_EQUAL(engine_run(f.engine, &f.error), ENGINE_FAILED);
    CU_ASSERT_STRING_EQUAL(f.error.text, "unit 6 is too late");
    close_fixture(&f);
}

static void test_stop(void)
{
    struct fixture f;
    open_fixture(&f, 2);
    plan.stop_at = 100 + 50 * DELAY;
    serve(&f, 0, 1, 100, 1000000);
    CU_ASSERT_EQUAL(engine_run(f.engine, &f.error), ENGINE_STOPPED);
    CU_ASSERT_EQUAL(f.states[0].hops + f.states[1].hops, 51);
    close_fixture(&f);

    open_fixture(&f, 1); /* inside one long window, too */
    plan.stop_at = 100 + 50 * DELAY;
    plan.lookahead = UINT64_C(1) << 40;
    serve(&f, 0, 0, 100, 1000000);
    CU_ASSERT_EQUAL(engine_run(f.engine, &f.error), ENGINE_STOPPED);
    CU_ASSERT_TRUE(f.states[0].hops < 20000);
    close_fixture(&f);
}

static void send_too_early(struct lp *lp, const struct event *event)
{
    if (event->arg[0] == 7)
        lp_send(lp, event->dst, unit_of(1, 3), PONG, event->time + 4);
}

static void send_into_the_past(struct lp *lp, const struct event *event)
{
    if (event->arg[0] == 7)
        lp_send(lp, event->dst, unit_of(0, 3), PONG, event->time - 4);
}

static void send_to_a_stranger(struct lp *lp, const struct event *event)
{
    if (event->arg[0] == 7)
        lp_send(lp, event->dst, unit_of(9, 0), PONG, event->time + DELAY);
}

static uint64_t promise_nothing(struct lp *lp, uint64_t next_event)
{
    (void)lp;
    return next_event;
}

static void run_child(int pipe_end, void (*misbehave)(struct lp *, const struct event *),
                      uint64_t (*give)(struct lp *, uint64_t))
{
    struct fixture f;
    dup2(pipe_end, STDERR_FILENO);
    open_fixture(&f, 2);
    struct lp_model other = model;
    other.promise = give;
    engine_lp(f.engine, 0)->model = &other;
    engine_lp(f.engine, 1)->model = &other;
    plan.misbehave = misbehave;
    serve(&f, 0, 1, 100, 20);
    engine_run(f.engine, &f.error);
    _exit(0);
}

/* Runs in a child, which must abort; what it printed goes to `text`. */
static void expect_abort(char *text, size_t bytes,
                         void (*misbehave)(struct lp *, const struct event *),
                         uint64_t (*give)(struct lp *, uint64_t))
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        run_child(ends[1], misbehave, give);
    close(ends[1]);
    size_t got = 0;
    ssize_t n;
    while ((n = read(ends[0], text + got, bytes - 1 - got)) > 0)
        got += (size_t)n;
    text[got] = '\0';
    close(ends[0]);
    int status = 0;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fprintf(stderr, "\nmissing \"%s\" in: %s\n", part, text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, part));
}

static void test_bugs_stop_the_run(void)
{
    char text[2048];
    /* The event with 7 hops to go is the 14th: LP 0 handles it at 230 ps, having promised 240. */
    static const char then[] = "the last event of LP 0 was pong from unit 6 to unit 1 at 230 ps";
    expect_abort(text, sizeof text, send_too_early, promise);
    expect_text(text, "ahbm-pdes: bug: event pong from unit 1 to unit 7 at 234 ps is before the "
                      "LP's promise (240 ps)");
    expect_text(text, then);
    expect_abort(text, sizeof text, send_into_the_past, promise);
    expect_text(text,
                "event pong from unit 1 to unit 3 at 226 ps is before the LP's clock (230 ps)");
    expect_text(text, then);
    expect_abort(text, sizeof text, send_to_a_stranger, promise);
    expect_text(text, "LP 0 sends to LP 9 of 2");
    expect_abort(text, sizeof text, NULL, promise_nothing);
    expect_text(text, "promises 100 ps, and its first event is at 100 ps");
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"partition into blocks", test_partition},
        {"ping-pong", test_ping_pong},
        {"the digest sees the run", test_digest_sees_the_run},
        {"nothing to do", test_nothing_to_do},
        {"units of one LP", test_units_of_one_lp_need_no_delay},
        {"a process without LPs", test_process_without_lps},
        {"the first failure wins", test_first_failure_wins},
        {"failure outside a handler", test_failure_outside_a_handler},
        {"simulated time runs out", test_time_runs_out},
        {"stop", test_stop},
        {"bugs stop the run", test_bugs_stop_the_run},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {{"pdes/engine", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
    if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
        return 2;
    CU_basic_run_tests();
    unsigned failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures > 0;
}
