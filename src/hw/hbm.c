/* A PE's share of the stack: pseudo-channels, interleaved, each an in-order bandwidth server that
 * is away for `refresh_busy_ps` at every multiple of `refresh_interval_ps`. Refresh is computed
 * when a request needs it; nothing happens at its edge. */
#include "hw/machine.h"

/* The end of `work` that starts at `time` on a channel whose next refresh, of `away`, is at
 * `*refresh_at`. */
static uint64_t serve(uint64_t interval, uint64_t away, uint64_t *refresh_at, uint64_t time,
                      uint64_t work)
{
    if (away == 0)
        return time_add(time, work);
    if (time >= *refresh_at) {
        uint64_t last = time / interval * interval;
        time = time_max(time, last + away);
        *refresh_at = last + interval;
    }
    uint64_t before = *refresh_at - time;
    if (work <= before)
        return time + work;
    /* Whole intervals, then a rest of 1 .. interval - away. */
    work -= before;
    uint64_t whole = (work - 1) / (interval - away);
    work -= whole * (interval - away);
    uint64_t start = time_add(*refresh_at, time_multiply(whole, interval));
    *refresh_at = time_add(start, interval);
    return time_add(start, away + work);
}

static uint64_t accept_channel(const struct cube *cube, struct hbm_share *share, uint32_t channel,
                               uint64_t now, uint64_t bytes)
{
    struct server *server = &share->channels[channel];
    if (now >= server_free_at(server)) {
        server->whole_ps = now;
        server->rest = 0;
    }
    uint64_t work = server_split(bytes, cube->channel_rate, &server->rest);
    server->whole_ps =
        serve(cube->params->hbm.refresh_interval_ps, cube->params->hbm.refresh_busy_ps,
              &share->refresh_at_ps[channel], server->whole_ps, work);
    server->busy_ps += work;
    return server_free_at(server);
}

/* The request's bytes on each channel: whole stripes evenly, what is left from its address on. */
static uint64_t accept(const struct cube *cube, struct hbm_share *share, uint64_t now,
                       uint64_t addr, uint64_t bytes)
{
    uint64_t stripe = cube->params->hbm.interleave_bytes;
    uint32_t channels = cube->share_channels;
    uint64_t each = bytes / (stripe * channels) * stripe, left = bytes % (stripe * channels);
    uint32_t from = (uint32_t)(addr / stripe % channels);
    uint64_t end = now;
    for (uint32_t i = 0; i < channels && (each > 0 || left > 0); i++) {
        uint64_t extra = left < stripe ? left : stripe;
        uint32_t channel = from + i < channels ? from + i : from + i - channels;
        left -= extra;
        end = time_max(end, accept_channel(cube, share, channel, now, each + extra));
    }
    return end;
}

void hbm_access(struct lp *lp, const struct event *event)
{
    const struct cube *cube = cube_of(lp);
    struct pe *pe = pe_of(lp, event);
    struct access access = access_unpack(event->arg[0]);
    uint64_t bytes = event->arg[2];
    bool own = unit_pe(access.requester) == unit_pe(event->dst);
    uint64_t end = accept(cube, &pe->hbm, lp->now, event->arg[1], bytes);
    end = time_add(end, cube->params->hbm.latency_ps);
    if (access.kind == ACCESS_STORE)
        pe->hbm.write_bytes += bytes;
    else
        pe->hbm.read_bytes += bytes;
    struct event *reply;
    if (own) {
        pe->hbm.own_bytes[access.kind == ACCESS_FETCH ? STREAM_FETCH : STREAM_LOAD] += bytes;
        if (access.kind != ACCESS_FETCH) /* its data is there then */
            pe->slots[access.slot].least_end_ps =
                time_max(pe->slots[access.slot].least_end_ps, end);
        reply = lp_send(lp, event->dst, access.requester, MSG_DMA_DATA, end);
        reply->arg[0] = event->arg[0];
        reply->arg[1] = event->arg[1];
        reply->arg[2] = bytes;
        return;
    }
    uint64_t on_link = access.kind == ACCESS_STORE ? cube->params->ipcq.credit_bytes : bytes;
    reply = packet_send(lp, event->dst, access.requester, PACKET_REPLY, 0, on_link, end);
    reply->arg[2] = event->arg[0];
    reply->arg[3] = event->arg[1];
    reply->arg[4] = bytes;
}

uint64_t hbm_earliest(const struct cube *cube, const struct pe *pe, uint64_t from, uint64_t bytes)
{
    uint64_t free_at = TIME_NEVER, rest = 0;
    for (uint32_t i = 0; i < cube->share_channels; i++)
        free_at = time_min(free_at, pe->hbm.channels[i].whole_ps);
    /* A fraction of a picosecond that reaches into a refresh does not wait for its end. */
    uint64_t interval = cube->params->hbm.refresh_interval_ps, refresh_at = interval;
    uint64_t away =
        cube->params->hbm.refresh_busy_ps > 0 ? cube->params->hbm.refresh_busy_ps - 1 : 0;
    return serve(interval, away, &refresh_at, time_max(from, free_at),
                 server_split(bytes, cube->cost.rate[STREAM_LOAD], &rest));
}
