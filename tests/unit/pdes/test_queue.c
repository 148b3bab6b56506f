/* Every kind of queue against the one contract: pops in the total order of event.h, keeps what was
 * put in. */
#include <CUnit/Basic.h>
#include <stdlib.h>

#include "pdes/core/queue.h"
#include "support/memory.h"

enum { MANY = 1000000 };

static enum queue_kind kind; /* under test */

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A plain reading of the order, beside the queue's own. */
static int compare(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->dst != b->dst)
        return a->dst < b->dst ? -1 : 1;
    if (a->src != b->src)
        return a->src < b->src ? -1 : 1;
    int32_t apart = (int32_t)(a->seq - b->seq);
    return (apart > 0) - (apart < 0);
}

static bool same(const struct event *a, const struct event *b)
{
    return compare(a, b) == 0 && a->kind == b->kind && a->arg[0] == b->arg[0] &&
           a->arg[EVENT_ARGS - 1] == b->arg[EVENT_ARGS - 1];
}

static void add(struct queue *queue, const struct event *event)
{
    struct event *slot = queue_add(queue, event->time, event->dst, event->src, event->seq);
    slot->kind = event->kind;
    slot->arg[0] = event->arg[0];
    slot->arg[EVENT_ARGS - 1] = event->arg[EVENT_ARGS - 1];
}

/* `expected` is in order: every order of arrival must give it back. */
static void check_triple(const struct event expected[3])
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int order = 0; order < 6; order++) {
        struct queue queue;
        queue_init(&queue, kind, 1);
        for (int i = 0; i < 3; i++)
            add(&queue, &expected[orders[order][i]]);
        for (int i = 0; i < 3; i++) {
            struct event popped;
            queue_pop(&queue, &popped);
            CU_ASSERT_TRUE(same(&popped, &expected[i]));
        }
        queue_fini(&queue);
    }
}

static void test_ties(void)
{
    /* Each part of the key decides when those before it are equal, against all that follow. */
    check_triple((struct event[3]){
        {.time = 1, .dst = 9, .src = 9, .seq = 9},
        {.time = 2, .dst = 1, .src = 1, .seq = 1},
        {.time = UINT64_MAX - 1, .dst = 0, .src = 0, .seq = 0},
    });
    check_triple((struct event[3]){
        {.time = 5, .dst = 1, .src = 9, .seq = 9},
        {.time = 5, .dst = 2, .src = 1, .seq = 1},
        {.time = 5, .dst = UINT32_MAX, .src = 0, .seq = 0},
    });
    check_triple((struct event[3]){
        {.time = 5, .dst = 3, .src = 1, .seq = 9},
        {.time = 5, .dst = 3, .src = 2, .seq = 1},
        {.time = 5, .dst = 3, .src = UINT32_MAX, .seq = 0},
    });
    check_triple((struct event[3]){
        {.time = 5, .dst = 3, .src = 7, .seq = 1},
        {.time = 5, .dst = 3, .src = 7, .seq = 2},
        {.time = 5, .dst = 3, .src = 7, .seq = 1000000},
    });
}

static void test_sequence_wraps(void)
{
    check_triple((struct event[3]){
        {.time = 5, .dst = 3, .src = 7, .seq = UINT32_MAX - 1},
        {.time = 5, .dst = 3, .src = 7, .seq = UINT32_MAX},
        {.time = 5, .dst = 3, .src = 7, .seq = 0},
    });
    check_triple((struct event[3]){
        {.time = 5, .dst = 3, .src = 7, .seq = INT32_MAX},
        {.time = 5, .dst = 3, .src = 7, .seq = (uint32_t)INT32_MAX + 1},
        {.time = 5, .dst = 3, .src = 7, .seq = UINT32_MAX - 5},
    });
}

/* Few distinct times and units, so that all parts of the key are needed; seq makes keys unique. */
static void fill_random(struct event *events, uint32_t count, uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bits = random_next(&seed);
        events[i] = (struct event){.time = bits % 5000,
                                   .dst = (uint32_t)(bits >> 20) % 8,
                                   .src = (uint32_t)(bits >> 24) % 8,
                                   .seq = UINT32_MAX - 1000 + i,
                                   .kind = (uint16_t)(bits >> 32),
                                   .arg = {bits, 0, 0, 0, i}};
    }
}

static void test_against_sort(void)
{
    struct event *events = memory_new(MANY, sizeof *events);
    struct queue queue;
    queue_init(&queue, kind, 1);
    fill_random(events, MANY, 42);
    for (uint32_t i = 0; i < MANY; i++)
        add(&queue, &events[i]);
    qsort(events, MANY, sizeof *events, compare);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        struct event popped;
        CU_ASSERT_EQUAL_FATAL(queue.count, MANY - i);
        wrong += queue_next_time(&queue) != events[i].time;
        queue_pop(&queue, &popped);
        wrong += !same(&popped, &events[i]);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(queue.high_water, MANY);
    queue_fini(&queue);
    memory_free(events);
}

/* Pops and adds mixed, as a simulation does: times never fall, nothing is lost. */
static void test_hold(void)
{
    uint64_t seed = 7, added = 0, popped_sum = 0, last = 0;
    struct queue queue;
    queue_init(&queue, kind, 4);
    for (uint32_t i = 0; i < 200000; i++) {
        uint64_t bits = random_next(&seed);
        if (queue.count > 0 && (bits & 3) == 0) {
            struct event popped;
            queue_pop(&queue, &popped);
            CU_ASSERT_TRUE_FATAL(popped.time >= last);
            last = popped.time;
            popped_sum += popped.arg[0];
        }
        if (queue.count < 1000) {
            struct event *event = queue_add(&queue, last + (bits >> 8) % 100, 0, 0, i);
            event->arg[0] = bits;
            added += bits;
        }
    }
    while (queue.count > 0) {
        struct event popped;
        queue_pop(&queue, &popped);
        popped_sum += popped.arg[0];
    }
    CU_ASSERT_EQUAL(added, popped_sum);
    CU_ASSERT_EQUAL(queue.high_water, 1000);
    queue_fini(&queue);
}

static uint32_t first_of(const struct event *pending, uint32_t count)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < count; i++)
        if (compare(&pending[i], &pending[first]) < 0)
            first = i;
    return first;
}

/* Adds an event within a few ticks of `now`, half of them at it, before it now and then. */
static struct event add_near(struct queue *queue, uint64_t bits, uint64_t now, uint32_t seq)
{
    uint64_t time = bits % 2 ? now : now + (bits >> 8) % 4;
    struct event event = {.time = bits % 64 == 0 && now > 0 ? now - 1 : time,
                          .dst = (uint32_t)(bits >> 16) % 4,
                          .src = (uint32_t)(bits >> 24) % 4,
                          .seq = seq,
                          .arg = {bits}};
    add(queue, &event);
    return event;
}

/* Bursts without delay, larger than the list for them, among events of the same time that were
 * there before: against a search through all that is pending. */
static void test_no_delay(void)
{
    struct event pending[512], popped = {0};
    uint64_t seed = 11;
    uint32_t count = 0, wrong = 0, seq = 0;
    struct queue queue;
    queue_init(&queue, kind, 1);
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t burst = random_next(&seed) % (i % 100 < 50 ? 5 : 2 * QUEUE_SOON);
        for (; burst > 0 && count < 500; burst--)
            pending[count++] = add_near(&queue, random_next(&seed), popped.time, seq++);
        for (uint64_t pops = random_next(&seed) % 4; pops > 0 && count > 0; pops--) {
            uint32_t first = first_of(pending, count);
            wrong += queue_next_time(&queue) != pending[first].time;
            queue_pop(&queue, &popped);
            wrong += !same(&popped, &pending[first]);
            pending[first] = pending[--count];
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(queue.count, count);
    queue_fini(&queue);
}

/* Increments of two very different sizes, and bursts at one time: what spreads badly over buckets.
 */
static uint64_t bimodal(uint64_t bits)
{
    if (bits % 100 == 0)
        return UINT64_C(1000000000000) + (bits >> 8) % 1000;
    return bits % 10 == 1 ? 0 : (bits >> 8) % 100;
}

static void test_bimodal(void)
{
    struct event *last = memory_new(1, sizeof *last), popped;
    struct queue queue;
    uint64_t seed = 3, wrong = 0;
    queue_init(&queue, kind, 1);
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t bits = random_next(&seed);
        if (i >= 20000) { /* hold that many */
            queue_pop(&queue, &popped);
            wrong += compare(last, &popped) > 0 && popped.time < last->time;
            *last = popped;
        }
        queue_add(&queue, last->time + bimodal(bits), (uint32_t)(bits >> 40) % 64, 1, i);
    }
    for (*last = (struct event){0}; queue.count > 0; *last = popped) {
        queue_pop(&queue, &popped); /* nothing is added any more: the whole order holds */
        wrong += compare(last, &popped) > 0;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    queue_fini(&queue);
    memory_free(last);
}

/* Delays of a trial: ever larger ones, and from trial 20 on clusters with wide gaps between them.
 * The sum of a trial's stays below TIME_LAST, where simulated time ends. */
static uint64_t trial_delay(uint32_t trial, uint64_t bits)
{
    static const uint64_t scales[] = {1, 3, 100, 100000, UINT64_C(1) << 40};
    uint64_t scale = scales[(bits >> 4) % (1 + trial % 5)];
    if (trial < 20)
        return (bits >> 8) % scale;
    return (bits >> 8) % 4 * (UINT64_C(1) << trial % 45) + (bits >> 12) % 64;
}

/* Both kinds agree on every pop, whatever is added when. */
static void test_kinds_agree(void)
{
    uint64_t seed = 11, wrong = 0;
    for (uint32_t trial = 0; trial < 60; trial++) {
        struct queue heap, ladder;
        struct event a, b = {0};
        queue_init(&heap, QUEUE_HEAP, 1);
        queue_init(&ladder, QUEUE_LADDER, 1);
        for (uint32_t i = 0; i < 20000; i++) {
            uint64_t bits = random_next(&seed);
            if (heap.count == 0 || bits % 16 > (i / 2000 % 2 ? 5 : 9)) {
                uint64_t time = b.time + trial_delay(trial, random_next(&seed));
                queue_add(&heap, time, (uint32_t)(bits >> 50) % 4, 0, i);
                queue_add(&ladder, time, (uint32_t)(bits >> 50) % 4, 0, i);
            } else {
                queue_pop(&heap, &a);
                queue_pop(&ladder, &b);
                wrong += !same(&a, &b) || queue_next_time(&heap) != queue_next_time(&ladder);
            }
        }
        queue_fini(&heap);
        queue_fini(&ladder);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void test_drain_and_refill(void)
{
    struct queue queue;
    queue_init(&queue, kind, 0);
    CU_ASSERT_EQUAL(queue_next_time(&queue), TIME_NEVER);
    for (uint32_t round = 1; round <= 20; round++) {
        uint32_t count = round * 13 % 40 + 1;
        for (uint32_t i = 0; i < count; i++)
            queue_add(&queue, count - i, round, 0, i)->arg[0] = round;
        for (uint32_t i = 0; i < count; i++) {
            struct event popped;
            queue_pop(&queue, &popped);
            CU_ASSERT_EQUAL(popped.time, i + 1);
            CU_ASSERT_EQUAL(popped.arg[0], round);
        }
        CU_ASSERT_EQUAL(queue.count, 0);
        CU_ASSERT_EQUAL(queue_next_time(&queue), TIME_NEVER);
    }
    CU_ASSERT_EQUAL(queue.high_water, 40);
    CU_ASSERT_TRUE(queue.capacity < 128);
    queue_fini(&queue);
}

static void test_growth_keeps_contents(void)
{
    struct queue queue;
    queue_init(&queue, kind, 2);
    for (uint32_t i = 0; i < 5000; i++) {
        struct event *event = queue_add(&queue, i % 71, i, ~i, i);
        for (int arg = 0; arg < EVENT_ARGS; arg++)
            CU_ASSERT_EQUAL_FATAL(event->arg[arg], 0); /* slots come back clean */
        event->kind = (uint16_t)i;
        for (uint32_t arg = 0; arg < EVENT_ARGS; arg++)
            event->arg[arg] = (uint64_t)i * 10 + arg;
        if (i % 3 == 0) { /* leave a hole in the pool */
            struct event popped;
            queue_pop(&queue, &popped);
            CU_ASSERT_EQUAL_FATAL(popped.arg[2], (uint64_t)popped.dst * 10 + 2);
        }
    }
    while (queue.count > 0) {
        struct event popped;
        queue_pop(&queue, &popped);
        CU_ASSERT_EQUAL_FATAL(popped.src, ~popped.dst);
        CU_ASSERT_EQUAL_FATAL(popped.kind, (uint16_t)popped.dst);
        for (uint32_t arg = 0; arg < EVENT_ARGS; arg++)
            CU_ASSERT_EQUAL_FATAL(popped.arg[arg], (uint64_t)popped.dst * 10 + arg);
    }
    queue_fini(&queue);
}

static int choose_heap(void)
{
    kind = QUEUE_HEAP;
    return 0;
}

static int choose_ladder(void)
{
    kind = QUEUE_LADDER;
    return 0;
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"ties in each part of the key", test_ties},
        {"sequence numbers wrap", test_sequence_wraps},
        {"a million events against qsort", test_against_sort},
        {"pops and adds mixed", test_hold},
        {"bursts without delay", test_no_delay},
        {"bimodal increments", test_bimodal},
        {"drain and refill", test_drain_and_refill},
        {"growth keeps contents", test_growth_keeps_contents},
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo both[] = {{"the kinds agree", test_kinds_agree}, CU_TEST_INFO_NULL};
    CU_SuiteInfo suites[] = {{"pdes/queue heap", choose_heap, NULL, NULL, NULL, tests},
                             {"pdes/queue ladder", choose_ladder, NULL, NULL, NULL, tests},
                             {"pdes/queue", NULL, NULL, NULL, NULL, both},
                             CU_SUITE_INFO_NULL};
    if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
        return 2;
    CU_basic_run_tests();
    unsigned failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures > 0;
}
