#include <string.h>

#include "machine/machine.h"
#include "machine/parts/hbm/hbm_keys.h"
#include "support/memory.h"

/* ---- answers ---- */

/* The data is on its way when it has left the bus and the latency is over. */
static void reply(struct lp *lp, uint32_t unit, const struct memory_message *request, uint64_t time)
{
    const struct access *access = &request->access;
    if (unit_pe(access->requester) == unit_pe(unit)) {
        dma_data_send(lp, unit, access->requester, time, *request);
        return;
    }
    network_send(lp, unit, time,
                 (struct packet){
                     .destination = access->requester,
                     .bytes = access->kind == ACCESS_STORE
                                  ? (uint32_t)cube_of(lp)->params->ipcq.credit_bytes
                                  : (uint32_t)request->bytes,
                     .kind = PACKET_REPLY,
                     .of.memory = *request,
                 });
}

static bool is_own(uint32_t unit, const struct memory_message *request)
{
    return unit_pe(request->access.requester) == unit_pe(unit);
}

/* A transfer of its own PE does not end before its data is there. */
static void note_end(struct pe *pe, const struct memory_message *request, uint64_t end)
{
    struct flight *flight = &pe->flights[request->access.flight];
    if (request->access.kind != ACCESS_FETCH)
        flight->least_end_ps = time_max(flight->least_end_ps, end);
}

/* ---- requests that are not certain when they arrive ---- */

enum { NONE = UINT32_MAX };

/* The place of the next one, which is taken by list_add(). */
static uint32_t next_request(struct hbm *hbm)
{
    if (hbm->requests_free == NONE) {
        uint32_t old = hbm->requests_room, room = old == 0 ? 16 : 2 * old;
        struct hbm_request *larger = memory_new(room, sizeof *larger);
        if (old > 0)
            memcpy(larger, hbm->requests, old * sizeof *larger);
        for (uint32_t i = old; i < room; i++)
            larger[i].next = i + 1 < room ? i + 1 : NONE;
        memory_free(hbm->requests);
        hbm->requests = larger;
        hbm->requests_room = room;
        hbm->requests_free = old;
    }
    uint32_t at = hbm->requests_free;
    hbm->requests[at].end = 0;
    hbm->requests[at].pieces = 0;
    return at;
}

static void free_request(struct hbm *hbm, uint32_t at)
{
    hbm->requests[at].next = hbm->requests_free;
    hbm->requests_free = at;
}

static void list_add(struct hbm *hbm, struct hbm_list *list, uint32_t at,
                     const struct memory_message *message)
{
    hbm->requests_free = hbm->requests[at].next;
    hbm->requests[at].message = *message;
    hbm->requests[at].next = NONE;
    if (list->head == NONE)
        list->head = at;
    else
        hbm->requests[list->tail].next = at;
    list->tail = at;
}

/* Takes out `at`, which follows `previous`. */
static void list_take(struct hbm *hbm, struct hbm_list *list, uint32_t previous, uint32_t at)
{
    uint32_t next = hbm->requests[at].next;
    if (previous == NONE)
        list->head = next;
    else
        hbm->requests[previous].next = next;
    if (next == NONE)
        list->tail = previous;
    free_request(hbm, at);
}

static void piece_done(void *context, uint32_t request, uint64_t end)
{
    struct hbm *hbm = context;
    hbm->requests[request].end = time_max(hbm->requests[request].end, end);
    hbm->requests[request].pieces--; /* wraps below 0 until all pieces are known */
}

/* Answers what has become certain: its own PE in the order in which it asked, as a DMA's reads of
 * one kind come back (docs/adr/0022), the others as they come. */
static void settle(struct lp *lp, uint32_t unit, struct pe *pe)
{
    const struct cube *cube = cube_of(lp);
    struct hbm *hbm = &pe->hbm;
    while (hbm->own.head != NONE && hbm->requests[hbm->own.head].pieces == 0) {
        struct hbm_request done = hbm->requests[hbm->own.head];
        list_take(hbm, &hbm->own, NONE, hbm->own.head);
        hbm->own_end = time_max(hbm->own_end, time_add(done.end, cube->hbm.controller_ps));
        note_end(pe, &done.message, hbm->own_end);
        reply(lp, unit, &done.message, hbm->own_end);
    }
    for (uint32_t previous = NONE, at = hbm->others.head; at != NONE;) {
        struct hbm_request done = hbm->requests[at];
        if (done.pieces > 0) {
            previous = at;
        } else {
            list_take(hbm, &hbm->others, previous, at);
            reply(lp, unit, &done.message, time_add(done.end, cube->hbm.controller_ps));
        }
        at = done.next;
    }
    if (hbm->own.head == NONE && hbm->others.head == NONE)
        return;
    uint64_t next = time_max(banks_next(cube, hbm), lp->now);
    if (next < hbm->wake_at) {
        hbm->wake_at = next;
        hbm_wake_send(lp, unit, unit, next, (struct nothing){0});
    }
}

void hbm_wake(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    if (pe->hbm.wake_at <= lp->now)
        pe->hbm.wake_at = TIME_NEVER;
    banks_advance(cube_of(lp), &pe->hbm, lp->now, piece_done, &pe->hbm);
    settle(lp, event->dst, pe);
}

static void access_banks(struct lp *lp, const struct event *event, struct pe *pe,
                         const struct memory_message *request)
{
    const struct cube *cube = cube_of(lp);
    struct hbm *hbm = &pe->hbm;
    uint32_t at = next_request(hbm);
    uint32_t pieces = banks_arrive(cube, hbm, lp->now, request->addr, request->bytes,
                                   request->access.kind == ACCESS_STORE, at, piece_done, hbm);
    struct hbm_request *made = &hbm->requests[at];
    bool own = is_own(event->dst, request);
    made->pieces += pieces;
    if (made->pieces > 0 || (own && hbm->own.head != NONE)) {
        list_add(hbm, own ? &hbm->own : &hbm->others, at, request);
    } else {
        uint64_t end = time_add(made->end, cube->hbm.controller_ps);
        if (own) {
            end = hbm->own_end = time_max(hbm->own_end, end);
            note_end(pe, request, end);
        }
        reply(lp, event->dst, request, end);
    }
    settle(lp, event->dst, pe);
}

void hbm_access(struct lp *lp, const struct event *event)
{
    const struct cube *cube = cube_of(lp);
    struct pe *pe = pe_of(lp, event);
    const struct memory_message *request = hbm_access_body(event);
    const struct access *access = &request->access;
    bool own = is_own(event->dst, request);
    if (access->kind == ACCESS_STORE)
        pe->hbm.stats.write_bytes += request->bytes;
    else
        pe->hbm.stats.read_bytes += request->bytes;
    if (own)
        pe->hbm.accepted[access->kind == ACCESS_FETCH ? HBM_FETCHES : HBM_TRANSFERS] +=
            request->bytes;
    if (cube->params->hbm.model == HBM_BANKS) {
        access_banks(lp, event, pe, request);
        return;
    }
    uint64_t end = flat_serve(cube, &pe->hbm, lp->now, request->addr, request->bytes);
    end = time_add(end, cube->params->hbm.latency_ps);
    if (own)
        note_end(pe, request, end);
    reply(lp, event->dst, request, end);
}

/* ---- bounds ---- */

uint64_t hbm_least(const struct cube *cube, const struct pe *pe, uint64_t now, uint64_t bytes)
{
    return cube->params->hbm.model == HBM_BANKS ? banks_least(cube, &pe->hbm, now, bytes)
                                                : flat_least(cube, &pe->hbm, now, bytes);
}

uint64_t hbm_accepted(const struct pe *pe, enum hbm_work work)
{
    return pe->hbm.accepted[work];
}

static uint32_t share_channels(const struct machine_params *params)
{
    return (uint32_t)params->hbm.pseudo_channels / grid_size(params->geometry.pes);
}

/* Of banks, the bus's: rows and refreshes only make it later. */
struct rate hbm_share_rate(const struct machine_params *params)
{
    uint32_t pes = grid_size(params->geometry.pes);
    if (params->hbm.model == HBM_FLAT)
        return rate_divide(params->hbm.rate, pes);
    struct hbm_derived derived;
    banks_derive(params, &derived);
    return rate_reduce(
        (struct rate){derived.dram.burst, derived.burst_bytes * share_channels(params)});
}

uint64_t hbm_spread_bytes(const struct machine_params *params)
{
    return share_channels(params) * params->hbm.interleave_bytes;
}

uint64_t hbm_tail_ps(const struct machine_params *params)
{
    if (params->hbm.model == HBM_FLAT)
        return params->hbm.latency_ps;
    struct hbm_derived derived;
    banks_derive(params, &derived);
    return derived.controller_ps;
}

/* ---- the part ---- */

static void prepare(struct cube *cube)
{
    const struct machine_params *params = cube->params;
    banks_derive(params, &cube->hbm);
    cube->hbm.channels = share_channels(params);
    cube->hbm.channel_rate = rate_divide(params->hbm.rate, params->hbm.pseudo_channels);
    cube->hbm.share_rate = hbm_share_rate(params);
}

/* Staggered over the shares: a request goes to all pseudo-channels of a share, which would wait for
 * each of them in turn. */
static uint64_t first_refresh(const struct cube *cube, uint32_t pe)
{
    const struct dram *dram = &cube->hbm.dram;
    return dram->refresh == DRAM_STAGGERED ? dram->refi * (pe + 1) / cube->pes : dram->refi;
}

static void init(struct cube *cube, uint32_t number)
{
    struct hbm *hbm = &cube->pe[number].hbm;
    uint32_t channels = cube->hbm.channels;
    hbm->requests_free = NONE;
    hbm->own = hbm->others = (struct hbm_list){NONE, NONE};
    hbm->wake_at = TIME_NEVER;
    if (cube->params->hbm.model == HBM_BANKS) {
        hbm->dram = memory_new_aligned(channels, sizeof *hbm->dram, 64);
        hbm->dram_channels = 1;
        dram_init(&cube->hbm.dram, &hbm->dram[0], first_refresh(cube, number));
        return;
    }
    hbm->channels = memory_new(channels, sizeof *hbm->channels);
    hbm->refresh_at_ps = memory_new(channels, sizeof *hbm->refresh_at_ps);
    for (uint32_t i = 0; i < channels; i++)
        hbm->refresh_at_ps[i] = cube->params->hbm.refresh_interval_ps;
}

static uint64_t memory(const struct machine_params *params)
{
    uint64_t channels = share_channels(params);
    if (params->hbm.model == HBM_BANKS)
        return part_block(channels, sizeof(struct dram_channel)) +
               part_block(16, sizeof(struct hbm_request));
    return part_block(channels, sizeof(struct server)) + part_block(channels, sizeof(uint64_t));
}

static void fini(struct pe *pe)
{
    struct hbm *hbm = &pe->hbm;
    memory_free(hbm->channels);
    memory_free(hbm->refresh_at_ps);
    memory_free(hbm->requests);
    for (uint32_t i = 0; i < hbm->dram_channels; i++)
        dram_fini(&hbm->dram[i]);
    memory_free(hbm->dram);
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
    return banks_check(params, clash);
}

static void collect(const struct cube *cube, const struct pe *pe, struct pe_result *result)
{
    const struct hbm *hbm = &pe->hbm;
    result->hbm = hbm->stats;
    for (uint32_t i = 0; i < cube->hbm.channels && hbm->channels != NULL; i++)
        result->hbm.busy_ps = time_max(result->hbm.busy_ps, hbm->channels[i].busy_ps);
    for (uint32_t i = 0; i < hbm->dram_channels; i++) {
        const struct dram_stats *stats = &hbm->dram[i].stats;
        uint64_t alike = cube->hbm.channels / hbm->dram_channels;
        result->hbm.busy_ps = time_max(result->hbm.busy_ps, stats->bursts * cube->hbm.dram.burst);
        result->hbm.activates += alike * stats->activates;
        result->hbm.row_conflicts += alike * stats->conflicts;
        result->hbm.refreshes += alike * stats->refreshes;
    }
}

/* clang-format off */
#define PE(field, ...) {COLUMN_AT(COLUMN_PE, struct pe_result, hbm.field), __VA_ARGS__}

static const struct column columns[] = {
    PE(busy_ps, "hbm_busy_ps", "ps", "busy time of the busiest pseudo-channel of the PE's share"),
    PE(read_bytes, "hbm_read_bytes", "bytes", "read from the PE's share of HBM, by any PE"),
    PE(activates, "hbm_activates", "1", "rows that were opened in the PE's share; 0 with hbm.model flat"),
    PE(row_conflicts, "hbm_row_conflicts", "1", "of these, those that had to close another row first"),
    PE(refreshes, "hbm_refreshes", "1", "refreshes of the share's pseudo-channels (or banks)"),
    PE(write_bytes, "hbm_write_bytes", "bytes", "written to the PE's share of HBM, by any PE"),
};
/* clang-format on */

struct last {
    uint64_t end;
    uint32_t pieces;
};

static void note_last(void *context, uint32_t request, uint64_t end)
{
    struct last *last = context;
    (void)request;
    last->end = time_max(last->end, end);
    last->pieces--;
}

/* At an address that depends on what was asked before: any will do for a bound. */
static uint64_t serve(struct cube *cube, struct pe *pe, uint64_t now, uint64_t bytes)
{
    uint64_t addr = pe->hbm.accepted[HBM_TRANSFERS];
    pe->hbm.accepted[HBM_TRANSFERS] += bytes;
    if (cube->params->hbm.model == HBM_FLAT)
        return flat_serve(cube, &pe->hbm, now, addr, bytes);
    struct last last = {0, 0};
    last.pieces += banks_arrive(cube, &pe->hbm, now, addr, bytes, false, 0, note_last, &last);
    while (last.pieces > 0)
        banks_advance(cube, &pe->hbm, banks_next(cube, &pe->hbm), note_last, &last);
    return last.end;
}

static const struct part_server servers[] = {{"share", serve, hbm_least}};

const struct part hbm_part = {
    .name = "hbm",
    .keys = hbm_keys,
    .keys_count = HBM_KEYS,
    PART_ROWS(columns, columns),
    PART_ROWS(servers, servers),
    .prepare = prepare,
    .init = init,
    .fini = fini,
    .memory = memory,
    .check = check,
    .collect_pe = collect,
};
