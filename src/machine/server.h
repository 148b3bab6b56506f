/* A work-conserving in-order server: the timing of every engine, link and channel.
 *
 * Work is counted in items (bytes, cycles) at an exact rate; the fraction of a picosecond left by
 * one request is carried into the next when they are back to back, so that n beats take ceil(n *
 * beat). */
#ifndef AHBM_MACHINE_SERVER_H
#define AHBM_MACHINE_SERVER_H

#include "support/units.h"

struct server {
    uint64_t whole_ps; /* the exact finish of all accepted work is whole_ps + rest / den */
    uint64_t rest;
    uint64_t busy_ps;
};

/* When everything accepted so far is done. */
static inline uint64_t server_free_at(const struct server *server)
{
    return server->whole_ps + (server->rest != 0);
}

/* The exact time of an amount of work: whole picoseconds and a fraction of rest / den; TIME_LAST at
 * most. */
struct work {
    uint64_t whole_ps, rest;
};

static inline struct work work_of(struct rate rate, uint64_t items)
{
    uint64_t total;
    if (__builtin_mul_overflow(items, rate.num, &total)) {
        unsigned __int128 wide = (unsigned __int128)items * rate.num;
        uint64_t rest = (uint64_t)(wide % rate.den);
        wide /= rate.den;
        return (struct work){wide < TIME_LAST ? (uint64_t)wide : TIME_LAST, rest};
    }
    if (rate.den == 1)
        return (struct work){time_min(total, TIME_LAST), 0};
    return (struct work){time_min(total / rate.den, TIME_LAST), total % rate.den};
}

/* The whole picoseconds of the work and the fraction that `rest` carries; the new rest. */
static inline uint64_t work_carry(struct work work, uint64_t den, uint64_t *rest)
{
    *rest += work.rest;
    if (*rest < den)
        return work.whole_ps;
    *rest -= den;
    return time_add(work.whole_ps, 1);
}

/* items * num + rest split by den; TIME_LAST at most. */
static inline uint64_t server_split(uint64_t items, struct rate rate, uint64_t *rest)
{
    return work_carry(work_of(rate, items), rate.den, rest);
}

/* What `items` take at least: a carried fraction can shorten one service by a picosecond. */
static inline uint64_t server_least(struct rate rate, uint64_t items)
{
    uint64_t duration = rate_duration(rate, items);
    return duration > 0 ? duration - 1 : 0;
}

/* Takes `items` that arrive at `now`; returns when they are done. */
static inline uint64_t server_accept(struct server *server, struct rate rate, uint64_t now,
                                     uint64_t items)
{
    uint64_t free_at = server_free_at(server), start = time_max(now, free_at);
    if (now >= free_at) {
        server->whole_ps = now;
        server->rest = 0;
    }
    server->whole_ps = time_add(server->whole_ps, server_split(items, rate, &server->rest));
    uint64_t end = server_free_at(server);
    server->busy_ps += end - start;
    return end;
}

/* As server_accept(), behind a fixed time that also holds the server. */
static inline uint64_t server_accept_after(struct server *server, struct rate rate, uint64_t now,
                                           uint64_t fixed_ps, uint64_t items)
{
    uint64_t begin = time_add(time_max(now, server_free_at(server)), fixed_ps);
    server->busy_ps += fixed_ps;
    server->whole_ps = begin;
    server->rest = 0;
    return server_accept(server, rate, begin, items);
}

/* Time with at least one of several overlapping activities. */
struct activity {
    uint64_t active;
    uint64_t since_ps;
    uint64_t busy_ps;
};

static inline void activity_begin(struct activity *activity, uint64_t now)
{
    if (activity->active++ == 0)
        activity->since_ps = now;
}

static inline void activity_end(struct activity *activity, uint64_t now)
{
    if (--activity->active == 0)
        activity->busy_ps += now - activity->since_ps;
}

#endif
