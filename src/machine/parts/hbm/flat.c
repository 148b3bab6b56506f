/* The flat model: bandwidth, and a refresh of all pseudo-channels at once. */
#include "machine/machine.h"

/* The end of `work` that starts at `time` on a channel whose next refresh, of `away`, is at
 * `*refresh_at`. */
static uint64_t through_refresh(uint64_t interval, uint64_t away, uint64_t *refresh_at,
                                uint64_t time, uint64_t work)
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

static uint64_t accept_channel(const struct cube *cube, struct hbm *hbm, uint32_t channel,
                               uint64_t now, struct work work)
{
    const struct hbm_params *params = &cube->params->hbm;
    struct server *server = &hbm->channels[channel];
    if (now >= server_free_at(server)) {
        server->whole_ps = now;
        server->rest = 0;
    }
    uint64_t time = work_carry(work, cube->hbm.channel_rate.den, &server->rest);
    server->whole_ps = through_refresh(params->refresh_interval_ps, params->refresh_busy_ps,
                                       &hbm->refresh_at_ps[channel], server->whole_ps, time);
    server->busy_ps += time;
    return server_free_at(server);
}

/* Its bytes on each channel: whole stripes evenly, what is left from its address on. */
uint64_t flat_serve(const struct cube *cube, struct hbm *hbm, uint64_t now, uint64_t addr,
                    uint64_t bytes)
{
    uint64_t stripe = cube->params->hbm.interleave_bytes;
    uint32_t channels = cube->hbm.channels;
    uint64_t each = bytes / (stripe * channels) * stripe, left = bytes % (stripe * channels);
    uint32_t from = (uint32_t)(addr / stripe % channels);
    uint64_t end = now, last = 0;
    struct work work = {0, 0};
    for (uint32_t i = 0; i < channels && (each > 0 || left > 0); i++) {
        uint64_t extra = left < stripe ? left : stripe;
        uint32_t channel = from + i < channels ? from + i : from + i - channels;
        left -= extra;
        if (each + extra != last) /* most channels get the same */
            work = work_of(cube->hbm.channel_rate, last = each + extra);
        end = time_max(end, accept_channel(cube, hbm, channel, now, work));
    }
    return end;
}

uint64_t flat_least(const struct cube *cube, const struct hbm *hbm, uint64_t now, uint64_t bytes)
{
    const struct hbm_params *params = &cube->params->hbm;
    uint64_t free_at = TIME_NEVER, rest = 0;
    for (uint32_t i = 0; i < cube->hbm.channels; i++)
        free_at = time_min(free_at, hbm->channels[i].whole_ps);
    /* A fraction of a picosecond that reaches into a refresh does not wait for its end. */
    uint64_t interval = params->refresh_interval_ps, refresh_at = interval;
    uint64_t away = params->refresh_busy_ps > 0 ? params->refresh_busy_ps - 1 : 0;
    return through_refresh(interval, away, &refresh_at, time_max(now, free_at),
                           server_split(bytes, cube->hbm.share_rate, &rest));
}
