#include "pdes/core/engine.h"

#include <assert.h>
#include <string.h>

#include "pdes/core/engine_internal.h"
#include "pdes/core/payload.h"
#include "support/hash.h"
#include "support/memory.h"

enum { QUEUE_START = 64, STOP_CHECK_EVENTS = 8192 };
#define NO_MAILBOX UINT32_MAX

void engine_block(uint32_t lps, uint32_t size, uint32_t rank, uint32_t *first, uint32_t *count)
{
    uint32_t each = lps / size, rest = lps % size;
    *first = rank * each + (rank < rest ? rank : rest);
    *count = each + (rank < rest);
}

uint32_t engine_owner(uint32_t lps, uint32_t size, uint32_t lp)
{
    uint32_t each = lps / size, rest = lps % size;
    uint32_t larger = rest * (each + 1);
    assert(lp < lps);
    return lp < larger ? lp / (each + 1) : rest + (lp - larger) / each;
}

struct engine *engine_new(const struct engine_config *config)
{
    struct engine *engine = memory_new(1, sizeof *engine);
    engine->config = *config;
    const struct transport *transport = config->transport;
    engine_block(config->lps, transport->size, transport->rank, &engine->first, &engine->count);
    engine->group_of = memory_new(config->lps, sizeof *engine->group_of);
    engine->groups = 1;
    engine->lps = memory_new_aligned(engine->count, sizeof *engine->lps, 64);
    engine->box_of = memory_new(transport->size, sizeof *engine->box_of);
    for (uint32_t rank = 0; rank < transport->size; rank++)
        engine->box_of[rank] = NO_MAILBOX;
    for (uint32_t i = 0; i < engine->count; i++) {
        struct lp *lp = &engine->lps[i];
        lp->engine = engine;
        lp->id = engine->first + i;
        lp->model = config->model;
        lp->digest = HASH_START;
        lp->arrival = TIME_NEVER;
        queue_init(&lp->queue, config->queue, QUEUE_START);
    }
    return engine;
}

uint64_t engine_lp_memory(uint32_t units, uint32_t events)
{
    uint64_t capacity = QUEUE_START, node = sizeof(struct ladder_node);
    while (capacity < events)
        capacity *= 2;
    node += sizeof(struct queue_entry) + sizeof(struct event) + sizeof(uint32_t);
    return sizeof(struct lp) + units * sizeof(uint32_t) + capacity * node;
}

void engine_free(struct engine *engine)
{
    if (engine == NULL)
        return;
    for (uint32_t i = 0; i < engine->count; i++) {
        queue_fini(&engine->lps[i].queue);
        memory_free(engine->lps[i].seq);
        payload_free_all(&engine->lps[i]);
    }
    for (uint32_t i = 0; i < engine->boxes_count; i++) {
        batch_fini(&engine->boxes[i].out);
        batch_fini(&engine->boxes[i].in);
    }
    batch_fini(&engine->inside);
    memory_free(engine->boxes);
    memory_free(engine->group_of);
    memory_free(engine->box_of);
    memory_free(engine->lps);
    memory_free(engine);
}

struct lp *engine_lp(struct engine *engine, uint32_t lp)
{
    return lp - engine->first < engine->count ? &engine->lps[lp - engine->first] : NULL;
}

void lp_set_units(struct lp *lp, uint32_t units)
{
    lp->units = units;
    lp->seq = memory_new(units, sizeof *lp->seq);
}

static void add_neighbour(struct engine *engine, uint32_t rank)
{
    if (rank == engine->config.transport->rank || engine->box_of[rank] != NO_MAILBOX)
        return;
    engine->boxes = memory_resize(engine->boxes, engine->boxes_count + 1, sizeof *engine->boxes);
    engine->boxes[engine->boxes_count] = (struct mailbox){.peer = rank};
    engine->box_of[rank] = engine->boxes_count++;
}

void engine_connect(struct engine *engine, uint32_t a, uint32_t b)
{
    uint32_t size = engine->config.transport->size;
    if (engine_lp(engine, a))
        add_neighbour(engine, engine_owner(engine->config.lps, size, b));
    if (engine_lp(engine, b))
        add_neighbour(engine, engine_owner(engine->config.lps, size, a));
}

void engine_set_group(struct engine *engine, uint32_t lp, uint32_t group)
{
    assert(lp < engine->config.lps && group < ENGINE_GROUPS);
    engine->group_of[lp] = (uint8_t)group;
    if (group >= engine->groups)
        engine->groups = group + 1;
}

static const char *kind_name(const struct lp *lp, uint16_t kind)
{
    return kind < lp->model->kinds ? lp->model->names[kind] : "?";
}

_Noreturn static void too_early(const struct lp *lp, uint32_t src, uint32_t dst, uint16_t kind,
                                uint64_t time, const char *rule, uint64_t limit)
{
    const struct event *now = &lp->current;
    error_bug("event %s from unit %u to unit %u at %llu ps is before %s (%llu ps); the last event "
              "of LP %u was %s from unit %u to unit %u at %llu ps",
              kind_name(lp, kind), src, dst, (unsigned long long)time, rule,
              (unsigned long long)limit, lp->id, kind_name(lp, now->kind), now->src, now->dst,
              (unsigned long long)now->time);
}

/* Where events for another LP wait for the next exchange. */
static struct batch *way_out(const struct lp *lp, uint32_t to)
{
    struct engine *engine = lp->engine;
    if (to >= engine->config.lps)
        error_bug("LP %u sends to LP %u of %u", lp->id, to, engine->config.lps);
    if (engine->group_of[to] != engine->group_of[lp->id])
        error_bug("LP %u sends to LP %u of another group", lp->id, to);
    if (engine_lp(engine, to) != NULL)
        return &engine->inside;
    uint32_t rank = engine_owner(engine->config.lps, engine->config.transport->size, to);
    if (engine->box_of[rank] == NO_MAILBOX)
        error_bug("LP %u sends to LP %u, which it was not connected to", lp->id, to);
    return &engine->boxes[engine->box_of[rank]].out;
}

/* A time that cannot be: the past is a bug, the end of time ends this LP's run. */
__attribute__((cold, noinline)) static void refuse_time(struct lp *lp, uint32_t src, uint32_t dst,
                                                        uint16_t kind, uint64_t time)
{
    if (time < lp->now)
        too_early(lp, src, dst, kind, time, "the LP's clock", lp->now);
    if (lp->model->late != NULL)
        lp->model->late(lp, src);
    error_set(&lp->error, ERROR_FAILED,
              "simulated time runs out: event %s of unit %u would come after 2^62 ps (53 days)",
              kind_name(lp, kind), src);
}

/* To another LP. An answer may come: that lowers the limit. */
__attribute__((noinline)) static struct event *send_away(struct lp *lp, uint32_t src, uint32_t dst,
                                                         uint32_t seq, uint16_t kind, uint64_t time)
{
    uint32_t to = dst >> lp->engine->config.unit_bits;
    if (time < lp->promise)
        too_early(lp, src, dst, kind, time, "the LP's promise", lp->promise);
    lp->limit = time_min(lp->limit, time_add_saturated(time, lp->model->reaction(lp, to)));
    struct event *event = batch_add(way_out(lp, to));
    *event = (struct event){.time = time, .dst = dst, .src = src, .seq = seq, .kind = kind};
    return event;
}

struct event *lp_send(struct lp *lp, uint32_t src, uint32_t dst, uint16_t kind, uint64_t time)
{
    uint32_t bits = lp->engine->config.unit_bits;
    uint32_t unit = src & ((1u << bits) - 1);
    assert(src >> bits == lp->id && unit < lp->units && kind < lp->model->kinds);
    assert(time != TIME_NEVER);
    if (time < lp->now || time >= TIME_LAST)
        refuse_time(lp, src, dst, kind, time);
    uint32_t seq = lp->seq[unit]++;
    if (dst >> bits != lp->id)
        return send_away(lp, src, dst, seq, kind, time);
    struct event *event = queue_add(&lp->queue, time, dst, src, seq);
    event->kind = kind;
    return event;
}

void *lp_attach(struct lp *lp, struct event *event, uint32_t bytes)
{
    uint32_t to = event->dst >> lp->engine->config.unit_bits;
    assert(bytes > 0 && event->payload == 0);
    if (to == lp->id) {
        event->payload = payload_new(lp, bytes);
        return lp->payloads[event->payload - 1].data;
    }
    event->payload = 1; /* the handle is the receiver's to choose */
    return batch_add_payload(way_out(lp, to), bytes);
}

void lp_forward(struct lp *lp, uint16_t handle, struct event *to)
{
    uint32_t bytes;
    const void *data = lp_payload(lp, handle, &bytes);
    if (data == NULL)
        return;
    if (to->dst >> lp->engine->config.unit_bits == lp->id) {
        to->payload = handle;
        return;
    }
    memcpy(lp_attach(lp, to, bytes), data, bytes);
    lp_drop(lp, handle);
}

static void insert(struct engine *engine, const struct event *event, const void *payload,
                   uint32_t payload_bytes)
{
    struct lp *lp = engine_lp(engine, event->dst >> engine->config.unit_bits);
    if (lp == NULL)
        error_bug("an event for unit %u reached rank %u", event->dst,
                  engine->config.transport->rank);
    if (event->time < lp->now)
        too_early(lp, event->src, event->dst, event->kind, event->time, "the LP's clock", lp->now);
    if (event->time < lp->limit)
        too_early(lp, event->src, event->dst, event->kind, event->time, "what the LP was promised",
                  lp->limit);
    struct event *copy = queue_add(&lp->queue, event->time, event->dst, event->src, event->seq);
    *copy = *event;
    lp->arrival = time_min(lp->arrival, event->time);
    copy->payload = payload_bytes > 0 ? payload_store(lp, payload, payload_bytes) : 0;
    if (lp->model->announce)
        lp->model->announce(lp, event);
}

static void insert_all(struct engine *engine, const struct batch *batch)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
        const void *payload = NULL;
        uint32_t bytes = 0;
        if (event->payload != 0)
            payload = batch_payload(batch, &at, &bytes);
        insert(engine, event, payload, bytes);
    }
}

void engine_deliver(struct engine *engine)
{
    uint32_t inside = engine->inside.count;
    insert_all(engine, &engine->inside);
    assert(engine->inside.count == inside); /* announce() sends nothing */
    (void)inside;
    batch_clear(&engine->inside);
    for (uint32_t i = 0; i < engine->boxes_count; i++)
        insert_all(engine, &engine->boxes[i].in);
}

/* A new promise may be looser than the last one, which still holds but for reactions to what has
 * arrived since: so promises never fall without a reason. */
void engine_renew_promise(struct lp *lp)
{
    uint64_t reaction = lp->model->reaction(lp, lp->id);
    uint64_t kept = time_min(lp->promise, time_add_saturated(lp->arrival, reaction));
    uint64_t fresh = lp->model->promise(lp, queue_next_time(&lp->queue));
    lp->promise = time_max(fresh, kept);
    lp->arrival = TIME_NEVER;
}

static void look_at(const struct engine *engine, struct lp *lp, struct view *view)
{
    uint64_t next = queue_next_time(&lp->queue);
    if (!lp_failed(lp))
        engine_renew_promise(lp);
    if (lp_failed(lp)) { /* in a handler, in announce() or in promise() */
        least_add(&view->failed, lp->now);
        lp->promise = TIME_NEVER;
        return;
    }
    if (lp->promise <= next && next != TIME_NEVER)
        error_bug("no progress: LP %u promises %llu ps, and its first event is at %llu ps", lp->id,
                  (unsigned long long)lp->promise, (unsigned long long)next);
    least_add(&view->promise[engine->group_of[lp->id]], lp->promise);
    least_add(&view->next, next);
}

struct view engine_look(struct engine *engine)
{
    const volatile sig_atomic_t *stop = engine->config.stop;
    struct view view = {LEAST_NONE, LEAST_NONE, {1, 1}, {{0, 0}}};
    for (uint32_t group = 0; group < engine->groups; group++)
        view.promise[group] = LEAST_NONE;
    for (uint32_t i = 0; i < engine->count; i++)
        look_at(engine, &engine->lps[i], &view);
    if (stop && *stop) /* read last: a promise that was broken off does not count */
        view.stopped = (struct least){0, 0};
    return view;
}

static uint64_t digest_event(uint64_t digest, const struct event *event)
{
    digest = hash_word(digest, event->time);
    digest = hash_word(digest, (uint64_t)event->dst << 32 | event->src);
    return hash_word(digest, (uint64_t)event->seq << 16 | event->kind);
}

/* Returns how many events it dispatched. */
static uint64_t process_lp(struct lp *lp, const volatile sig_atomic_t *stop)
{
    lp_handler *const *handlers = lp->model->handlers;
    uint64_t events = 0;
    while (queue_next_time(&lp->queue) < lp->limit && !lp_failed(lp)) {
        queue_pop(&lp->queue, &lp->current);
        lp->now = lp->current.time;
        lp->digest = digest_event(lp->digest, &lp->current);
        handlers[lp->current.kind](lp, &lp->current);
        if (++events % STOP_CHECK_EVENTS == 0 && stop && *stop)
            break;
    }
    lp->events += events;
    return events;
}

void engine_process(struct engine *engine)
{
    const volatile sig_atomic_t *stop = engine->config.stop;
    uint64_t most = 0;
    for (uint32_t i = 0; i < engine->count && !(stop && *stop); i++) {
        uint64_t events = process_lp(&engine->lps[i], stop);
        most = events > most ? events : most;
    }
    engine->stats.critical_events += most;
}

/* The failed LP of this process whose event comes first; NULL when none failed. */
static const struct lp *first_failure(const struct engine *engine)
{
    const struct lp *first = NULL;
    for (uint32_t i = 0; i < engine->count; i++) {
        const struct lp *lp = &engine->lps[i];
        if (lp_failed(lp) && (first == NULL || lp->now < first->now))
            first = lp; /* LPs ascend, and so do their units: ties go to the lower one */
    }
    return first;
}

static uint64_t minimum(struct transport *transport, uint64_t value)
{
    struct least least = {value, value};
    transport->ops->minimum(transport, &least, 1);
    return least.first;
}

static void agree_on_error(struct engine *engine, struct error *err)
{
    struct transport *transport = engine->config.transport;
    const struct lp *mine = first_failure(engine);
    uint64_t time = mine ? mine->now : TIME_NEVER;
    uint64_t least = minimum(transport, time);
    uint64_t winner = minimum(transport, mine && time == least ? mine->id : TIME_NEVER);
    uint32_t root = engine_owner(engine->config.lps, transport->size, (uint32_t)winner);
    struct error found = {ERROR_NONE, ""};
    if (root == transport->rank) {
        assert(mine != NULL);
        found = mine->error;
    }
    transport->ops->broadcast(transport, &found, sizeof found, root);
    *err = found;
}

struct spent engine_clock(const struct engine *engine)
{
    return (struct spent){clock_wall(), engine->config.crowded ? clock_processor() : 0};
}

void engine_synchronised(struct engine *engine, struct spent begun)
{
    struct spent now = engine_clock(engine);
    engine->sync.wall += now.wall - begun.wall;
    engine->sync.processor += now.processor - begun.processor;
}

/* What was not synchronisation was the model. */
static void note_times(struct engine *engine, struct spent begun)
{
    struct spent now = engine_clock(engine);
    struct engine_stats *stats = &engine->stats;
    stats->sync_s = engine->sync.wall;
    stats->model_s = now.wall - begun.wall - stats->sync_s;
    stats->model_processor_s = engine->config.crowded
                                   ? now.processor - begun.processor - engine->sync.processor
                                   : stats->model_s;
}

enum engine_result engine_run(struct engine *engine, struct error *err)
{
    struct transport *transport = engine->config.transport;
    uint64_t messages = transport->messages, bytes = transport->bytes;
    transport->ops->connect(transport, engine->boxes, engine->boxes_count);
    struct spent begun = engine_clock(engine);
    enum engine_result result = window_run(engine);
    note_times(engine, begun);
    if (result == ENGINE_FAILED)
        agree_on_error(engine, err);
    engine->stats.messages = transport->messages - messages;
    engine->stats.message_bytes = transport->bytes - bytes;
    return result;
}

void engine_get_stats(const struct engine *engine, struct engine_stats *stats)
{
    *stats = engine->stats;
    stats->events = stats->lp_events_max = 0;
    for (uint32_t i = 0; i < engine->count; i++) {
        uint64_t events = engine->lps[i].events;
        stats->events += events;
        if (events > stats->lp_events_max)
            stats->lp_events_max = events;
    }
}
