#include "machine/machine.h"
#include "support/memory.h"

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

/* When a request that arrives at `now` is served. Its bytes on each channel: whole stripes evenly,
 * what is left from its address on. */
static uint64_t serve_at(const struct cube *cube, struct hbm *hbm, uint64_t now, uint64_t addr,
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

uint64_t hbm_least(const struct cube *cube, const struct pe *pe, uint64_t now, uint64_t bytes)
{
    const struct hbm_params *params = &cube->params->hbm;
    uint64_t free_at = TIME_NEVER, rest = 0;
    for (uint32_t i = 0; i < cube->hbm.channels; i++)
        free_at = time_min(free_at, pe->hbm.channels[i].whole_ps);
    /* A fraction of a picosecond that reaches into a refresh does not wait for its end. */
    uint64_t interval = params->refresh_interval_ps, refresh_at = interval;
    uint64_t away = params->refresh_busy_ps > 0 ? params->refresh_busy_ps - 1 : 0;
    return through_refresh(interval, away, &refresh_at, time_max(now, free_at),
                           server_split(bytes, cube->hbm.share_rate, &rest));
}

/* The data is on its way when the burst and the latency are over. */
static void reply(struct lp *lp, const struct event *event, const struct memory_message *request,
                  uint64_t time)
{
    const struct access *access = &request->access;
    if (unit_pe(access->requester) == unit_pe(event->dst)) {
        dma_data_send(lp, event->dst, access->requester, time, *request);
        return;
    }
    network_send(lp, event->dst, time,
                 (struct packet){
                     .destination = access->requester,
                     .bytes = access->kind == ACCESS_STORE
                                  ? (uint32_t)cube_of(lp)->params->ipcq.credit_bytes
                                  : (uint32_t)request->bytes,
                     .kind = PACKET_REPLY,
                     .of.memory = *request,
                 });
}

void hbm_access(struct lp *lp, const struct event *event)
{
    const struct cube *cube = cube_of(lp);
    struct pe *pe = pe_of(lp, event);
    const struct memory_message *request = hbm_access_body(event);
    const struct access *access = &request->access;
    uint64_t end = serve_at(cube, &pe->hbm, lp->now, request->addr, request->bytes);
    end = time_add(end, cube->params->hbm.latency_ps);
    if (access->kind == ACCESS_STORE)
        pe->hbm.stats.write_bytes += request->bytes;
    else
        pe->hbm.stats.read_bytes += request->bytes;
    if (unit_pe(access->requester) == unit_pe(event->dst)) {
        bool fetch = access->kind == ACCESS_FETCH;
        struct flight *flight = &pe->flights[access->flight];
        pe->hbm.accepted[fetch ? HBM_FETCHES : HBM_TRANSFERS] += request->bytes;
        if (!fetch) /* its data is there then */
            flight->least_end_ps = time_max(flight->least_end_ps, end);
    }
    reply(lp, event, request, end);
}

uint64_t hbm_accepted(const struct pe *pe, enum hbm_work work)
{
    return pe->hbm.accepted[work];
}

static uint32_t share_channels(const struct machine_params *params)
{
    return (uint32_t)params->hbm.pseudo_channels / grid_size(params->geometry.pes);
}

struct rate hbm_share_rate(const struct machine_params *params)
{
    return rate_divide(params->hbm.rate, grid_size(params->geometry.pes));
}

uint64_t hbm_spread_bytes(const struct machine_params *params)
{
    return share_channels(params) * params->hbm.interleave_bytes;
}

static void prepare(struct cube *cube)
{
    const struct machine_params *params = cube->params;
    cube->hbm.channels = share_channels(params);
    cube->hbm.channel_rate = rate_divide(params->hbm.rate, params->hbm.pseudo_channels);
    cube->hbm.share_rate = hbm_share_rate(params);
}

static void init(struct cube *cube, uint32_t number)
{
    struct hbm *hbm = &cube->pe[number].hbm;
    hbm->channels = memory_new(cube->hbm.channels, sizeof *hbm->channels);
    hbm->refresh_at_ps = memory_new(cube->hbm.channels, sizeof *hbm->refresh_at_ps);
    for (uint32_t i = 0; i < cube->hbm.channels; i++)
        hbm->refresh_at_ps[i] = cube->params->hbm.refresh_interval_ps;
}

static uint64_t memory(const struct machine_params *params)
{
    uint64_t channels = share_channels(params);
    return part_block(channels, sizeof(struct server)) + part_block(channels, sizeof(uint64_t));
}

static void fini(struct pe *pe)
{
    memory_free(pe->hbm.channels);
    memory_free(pe->hbm.refresh_at_ps);
}

static bool check(const struct machine_params *params, struct key_clash *clash)
{
    uint64_t pes = (uint64_t)params->geometry.pes.columns * params->geometry.pes.rows;
    if (params->hbm.pseudo_channels % pes != 0)
        return KEY_CLASH(
            clash, "hbm.pseudo_channels is not a multiple of the PEs in a CUBE (pes_x * pes_y)",
            "hbm.pseudo_channels", "topology.pes_x", "topology.pes_y");
    if (params->hbm.refresh_busy_ps >= params->hbm.refresh_interval_ps)
        return KEY_CLASH(clash, "hbm.refresh_busy_ns is not below hbm.refresh_interval_ns",
                         "hbm.refresh_busy_ns", "hbm.refresh_interval_ns");
    return true;
}

static void collect(const struct cube *cube, const struct pe *pe, struct pe_result *result)
{
    result->hbm = pe->hbm.stats;
    for (uint32_t i = 0; i < cube->hbm.channels; i++)
        result->hbm.busy_ps = time_max(result->hbm.busy_ps, pe->hbm.channels[i].busy_ps);
}

/* clang-format off */
static const struct key_row keys[] = {
    {"hbm.capacity_bytes", KEY_COUNT, KEY_AT(hbm.capacity_bytes), "1048576", "17592186044416",
     "25769803776", "capacity of a CUBE's stack, in bytes", "public fact: 24 GiB HBM3 stack"},
    {"hbm.bandwidth_gbps", KEY_GBPS, KEY_AT(hbm.rate), "1", "100000", "1200",
     "bandwidth of a CUBE's whole stack, in 1e9 bytes/s",
     "public fact: HBM3E stack, 1.15-1.2 TB/s"},
    {"hbm.pseudo_channels", KEY_COUNT, KEY_AT(hbm.pseudo_channels), "1", "4096", "32",
     "pseudo-channels of a stack, an equal share local to each PE",
     "public fact: HBM3, 16 channels of 2 pseudo-channels"},
    {"hbm.interleave_bytes", KEY_COUNT, KEY_AT(hbm.interleave_bytes), "32", "1048576", "256",
     "consecutive bytes of one pseudo-channel, in bytes", "assumption: four bursts of 64 bytes"},
    {"hbm.latency_ns", KEY_NS, KEY_AT(hbm.latency_ps), "0", "1000000", "40",
     "end of a burst to data at the DMA, in ns",
     "assumption: idle read of a closed row (32 ns in DRAMsim3 and Ramulator) and a hop"},
    {"hbm.refresh_interval_ns", KEY_NS, KEY_AT(hbm.refresh_interval_ps), "100", "1000000000", "3900",
     "time between two refreshes, in ns", "public fact: tREFI of HBM3"},
    {"hbm.refresh_busy_ns", KEY_NS, KEY_AT(hbm.refresh_busy_ps), "0", "1000000", "307",
     "time a refresh takes, in ns; 0 for no refresh; below refresh_interval_ns",
     "fitted: tRFC 260 + 47 ns, to DRAMsim3's HBM2 stream at 0.921 of peak"},
};

#define PE(field, ...) {COLUMN_AT(COLUMN_PE, struct pe_result, hbm.field), __VA_ARGS__}

static const struct column columns[] = {
    PE(busy_ps, "hbm_busy_ps", "ps", "busy time of the busiest pseudo-channel of the PE's share"),
    PE(read_bytes, "hbm_read_bytes", "bytes", "read from the PE's share of HBM, by any PE"),
    PE(write_bytes, "hbm_write_bytes", "bytes", "written to the PE's share of HBM, by any PE"),
};
/* clang-format on */

/* At an address that depends on what was asked before: any will do for a bound. */
static uint64_t serve(struct cube *cube, struct pe *pe, uint64_t now, uint64_t bytes)
{
    uint64_t addr = pe->hbm.accepted[HBM_TRANSFERS];
    pe->hbm.accepted[HBM_TRANSFERS] += bytes;
    return serve_at(cube, &pe->hbm, now, addr, bytes);
}

static const struct part_server servers[] = {{"share", serve, hbm_least}};

const struct part hbm_part = {
    .name = "hbm",
    PART_ROWS(keys, keys),
    PART_ROWS(columns, columns),
    PART_ROWS(servers, servers),
    .prepare = prepare,
    .init = init,
    .fini = fini,
    .memory = memory,
    .check = check,
    .collect_pe = collect,
};
