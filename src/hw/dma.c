/* The DMA engine moves data between HBM shares and scratch: jobs in order, cut into requests of at
 * most `request_bytes`, issued over `channels` side by side, at most `queue_depth` outstanding. */
#include "hw/machine.h"

static struct dma_request *head(struct dma *dma)
{
    return &dma->jobs[dma->first];
}

static uint64_t *earliest_channel(struct dma *dma, uint64_t channels)
{
    uint64_t *best = &dma->channel_free_ps[0];
    for (uint64_t i = 1; i < channels; i++)
        if (dma->channel_free_ps[i] < *best)
            best = &dma->channel_free_ps[i];
    return best;
}

/* When the next request leaves: its channel is free, its set-up done, and its predecessor gone. */
static uint64_t issue_time(const struct hw_params *params, struct dma *dma, uint64_t now,
                           bool first)
{
    uint64_t *channel = earliest_channel(dma, params->dma.channels);
    uint64_t time = time_max(now, *channel) + params->dma.request_ps;
    if (first)
        time += params->dma.setup_ps;
    time = time_max(time, dma->last_issue_ps);
    *channel = dma->last_issue_ps = time;
    return time;
}

static void send_request(struct lp *lp, const struct event *event, const struct access *access,
                         uint64_t addr, uint64_t bytes, uint64_t time)
{
    struct event *request;
    if (access->share == unit_pe(event->dst)) {
        request = send_part(lp, event, PART_HBM, MSG_HBM_ACCESS, time);
        request->arg[0] = access_pack(*access);
        request->arg[1] = addr;
        request->arg[2] = bytes;
        return;
    }
    uint64_t on_link =
        access->kind == ACCESS_STORE ? bytes : cube_of(lp)->params->ipcq.credit_bytes;
    request = packet_send(lp, event->dst, unit_of(lp->id, access->share, PART_HBM), PACKET_ACCESS,
                          0, on_link, time);
    request->arg[2] = access_pack(*access);
    request->arg[3] = addr;
    request->arg[4] = bytes;
}

static void pump(struct lp *lp, const struct event *event, struct pe *pe)
{
    const struct hw_params *params = cube_of(lp)->params;
    struct dma *dma = &pe->dma;
    while (dma->count > 0 && dma->outstanding < params->dma.queue_depth) {
        struct dma_request *job = head(dma);
        uint64_t bytes = job->bytes_left < params->dma.request_bytes ? job->bytes_left
                                                                     : params->dma.request_bytes;
        uint64_t time = issue_time(params, dma, lp->now, job->first);
        if (job->first)
            slot_start(&pe->slots[job->access.slot], lp->now, lp->now, 0);
        send_request(lp, event, &job->access, job->addr, bytes, time);
        activity_begin(&dma->activity, lp->now);
        dma->outstanding++;
        pe->result.requests++;
        job->first = false;
        job->addr += bytes;
        job->bytes_left -= bytes;
        if (job->bytes_left == 0) {
            dma->first = dma->first + 1 == dma->capacity ? 0 : dma->first + 1;
            dma->count--;
        }
    }
}

static void begin_fetch(const struct hw_params *params, struct dma *dma, uint16_t slot,
                        uint64_t addr, uint64_t bytes)
{
    if (dma->fetches_count == params->sched.pipeline_depth)
        error_bug("more sub-tiles are fetched than the pipeline is deep");
    dma->fetches[dma->fetches_count++] = (struct dma_fetch){addr, addr + bytes, bytes, slot};
}

/* Takes in what has come of a sub-tile; whether that was the last of it. */
static bool end_fetch(struct dma *dma, uint16_t slot, uint64_t addr, uint64_t bytes)
{
    struct dma_fetch *fetch = dma->fetches;
    while (fetch->slot != slot || addr < fetch->first || addr >= fetch->end)
        if (++fetch == dma->fetches + dma->fetches_count)
            error_bug("data at %llu that no sub-tile asked for", (unsigned long long)addr);
    fetch->bytes_left -= bytes;
    if (fetch->bytes_left > 0)
        return false;
    *fetch = dma->fetches[--dma->fetches_count];
    return true;
}

void dma_job(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    struct dma *dma = &pe->dma;
    struct access access = access_unpack(event->arg[0]);
    if (dma->count == dma->capacity)
        error_bug("the DMA job queue of unit %u is full", event->dst);
    uint32_t at = (dma->first + dma->count++) % dma->capacity;
    dma->jobs[at] = (struct dma_request){access, event->arg[1], event->arg[2], event->arg[3] != 0};
    if (access.kind == ACCESS_FETCH)
        begin_fetch(cube_of(lp)->params, dma, access.slot, event->arg[1], event->arg[2]);
    pump(lp, event, pe);
}

static void finish_transfer(struct lp *lp, const struct event *event, struct pe *pe,
                            struct access access, uint64_t addr, uint64_t bytes)
{
    struct slot *slot = &pe->slots[access.slot];
    if (access.kind == ACCESS_STORE)
        pe->result.write_bytes += bytes;
    else
        pe->result.read_bytes += bytes;
    if (access.kind == ACCESS_FETCH) {
        if (!end_fetch(&pe->dma, access.slot, addr, bytes))
            return;
        struct event *step = send_part(lp, event, PART_GEMM, MSG_GEMM_STEP, lp->now);
        step->arg[0] = access.slot;
        step->arg[1] = 1;
        return;
    }
    slot->bytes_left -= bytes;
    if (slot->bytes_left == 0)
        send_part(lp, event, PART_CPU, MSG_CPU_DONE, lp->now)->arg[0] = access.slot;
}

void dma_data(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    pe->dma.outstanding--;
    activity_end(&pe->dma.activity, lp->now);
    finish_transfer(lp, event, pe, access_unpack(event->arg[0]), event->arg[1], event->arg[2]);
    pump(lp, event, pe);
}
