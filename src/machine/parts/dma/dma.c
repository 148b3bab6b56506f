#include "machine/machine.h"
#include "support/memory.h"

static uint64_t *earliest_channel(struct dma *dma, uint64_t channels)
{
    uint64_t *best = &dma->channel_free_ps[0];
    for (uint64_t i = 1; i < channels; i++)
        if (dma->channel_free_ps[i] < *best)
            best = &dma->channel_free_ps[i];
    return best;
}

/* When the next request leaves: its channel is free, its set-up done, and its predecessor gone. */
static uint64_t issue_time(const struct machine_params *params, struct dma *dma, uint64_t now,
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

static void send_request(struct lp *lp, const struct event *event, struct memory_message request,
                         uint64_t time)
{
    if (request.access.share == unit_pe(event->dst)) {
        hbm_access_post(lp, event, time, request);
        return;
    }
    bool store = request.access.kind == ACCESS_STORE;
    network_send(lp, event->dst, time,
                 (struct packet){
                     .destination = unit_of(lp->id, request.access.share, UNIT_HBM),
                     .bytes = store ? (uint32_t)request.bytes
                                    : (uint32_t)cube_of(lp)->params->ipcq.credit_bytes,
                     .kind = PACKET_ACCESS,
                     .of.memory = request,
                 });
}

/* The next request of a job: of at most `request_bytes`, and to one share. */
static struct memory_message request_of(const struct machine_params *params,
                                        const struct dma_job *job)
{
    struct memory_message request = {job->access, job->addr,
                                     time_min(job->bytes, params->dma.request_bytes)};
    if (job->access.share != ACCESS_STACK)
        return request;
    struct stripe stripe = machine_stripe(params);
    struct stripe_place place = stripe_place(stripe, job->addr);
    request.access.share = (uint8_t)place.share;
    request.addr = place.addr;
    request.bytes = time_min(request.bytes, stripe_left(stripe, job->addr));
    return request;
}

static void pump(struct lp *lp, const struct event *event, struct pe *pe)
{
    const struct machine_params *params = cube_of(lp)->params;
    struct dma *dma = &pe->dma;
    while (dma->count > 0 && dma->outstanding < params->dma.queue_depth) {
        struct dma_job *job = &dma->jobs[dma->first];
        struct memory_message request = request_of(params, job);
        uint64_t time = issue_time(params, dma, lp->now, job->first);
        if (job->first)
            flight_start(&pe->flights[job->access.flight], lp->now, lp->now, 0);
        send_request(lp, event, request, time);
        activity_begin(&dma->activity, lp->now);
        dma->outstanding++;
        dma->stats.requests++;
        job->first = false;
        job->addr += request.bytes;
        job->bytes -= request.bytes;
        if (job->bytes == 0) {
            dma->first = dma->first + 1 == dma->capacity ? 0 : dma->first + 1;
            dma->count--;
        }
    }
}

static void begin_fetch(const struct machine_params *params, struct dma *dma,
                        const struct dma_job *job)
{
    if (dma->fetches_count == params->sched.pipeline_depth)
        error_bug("more sub-tiles are fetched than the pipeline is deep");
    dma->fetches[dma->fetches_count++] =
        (struct dma_fetch){job->addr, job->addr + job->bytes, job->bytes, job->access.flight};
}

/* The address that the job of a sub-tile's data gave. */
static uint64_t fetch_address(const struct machine_params *params, const struct flight *flight,
                              const struct memory_message *data)
{
    if (flight->command.b.pe != OPERAND_STACK)
        return data->addr;
    return stripe_address(machine_stripe(params),
                          (struct stripe_place){data->access.share, data->addr});
}

/* Takes in what has come of a sub-tile, at `addr` of its job; whether that was the last of it. */
static bool end_fetch(struct dma *dma, const struct memory_message *data, uint64_t addr)
{
    struct dma_fetch *fetch = dma->fetches;
    while (fetch->flight != data->access.flight || addr < fetch->first || addr >= fetch->end)
        if (++fetch == dma->fetches + dma->fetches_count)
            error_bug("data at %llu that no sub-tile asked for", (unsigned long long)addr);
    fetch->bytes_left -= data->bytes;
    if (fetch->bytes_left > 0)
        return false;
    *fetch = dma->fetches[--dma->fetches_count];
    return true;
}

void dma_job(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    struct dma *dma = &pe->dma;
    const struct dma_job *job = dma_job_body(event);
    if (dma->count == dma->capacity)
        error_bug("the DMA job queue of unit %u is full", event->dst);
    dma->jobs[(dma->first + dma->count++) % dma->capacity] = *job;
    if (job->access.kind == ACCESS_FETCH)
        begin_fetch(cube_of(lp)->params, dma, job);
    pump(lp, event, pe);
}

static void finish_transfer(struct lp *lp, const struct event *event, struct pe *pe,
                            const struct memory_message *data)
{
    const struct access *access = &data->access;
    struct flight *flight = &pe->flights[access->flight];
    if (access->kind == ACCESS_STORE)
        pe->dma.stats.write_bytes += data->bytes;
    else
        pe->dma.stats.read_bytes += data->bytes;
    if (access->kind == ACCESS_FETCH) {
        if (end_fetch(&pe->dma, data, fetch_address(cube_of(lp)->params, flight, data)))
            gemm_step_post(lp, event, lp->now, (struct steps_message){1, access->flight});
        return;
    }
    flight->bytes_left -= data->bytes;
    if (flight->bytes_left == 0)
        cpu_done_post(lp, event, lp->now, (struct flight_message){access->flight});
}

void dma_data(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    const struct memory_message *data = dma_data_body(event);
    pe->dma.outstanding--;
    activity_end(&pe->dma.activity, lp->now);
    finish_transfer(lp, event, pe, data);
    pump(lp, event, pe);
}

static void init(struct cube *cube, uint32_t number)
{
    const struct machine_params *params = cube->params;
    struct dma *dma = &cube->pe[number].dma;
    dma->capacity = (uint32_t)(params->sched.pipeline_depth + params->dma.queue_commands);
    dma->jobs = memory_new(dma->capacity, sizeof *dma->jobs);
    dma->fetches = memory_new(params->sched.pipeline_depth, sizeof *dma->fetches);
}

static uint64_t memory(const struct machine_params *params)
{
    uint64_t jobs = params->sched.pipeline_depth + params->dma.queue_commands;
    return part_block(jobs, sizeof(struct dma_job)) +
           part_block(params->sched.pipeline_depth, sizeof(struct dma_fetch));
}

static void fini(struct pe *pe)
{
    memory_free(pe->dma.jobs);
    memory_free(pe->dma.fetches);
}

static void collect(const struct cube *cube, const struct pe *pe, struct pe_result *result)
{
    (void)cube;
    result->dma = pe->dma.stats;
    result->busy_ps[ENGINE_DMA] = pe->dma.activity.busy_ps;
}

/* clang-format off */
static const struct key_row keys[] = {
    {"dma.setup_ns", KEY_NS, KEY_AT(dma.setup_ps), "0", "1000000", "20",
     "set-up per operand of a command, in ns", "assumption: one descriptor"},
    {"dma.request_ns", KEY_NS, KEY_AT(dma.request_ps), "0", "1000000", "2",
     "time between two requests of a channel, in ns", "assumption: two cycles at 1 GHz"},
    {"dma.channels", KEY_COUNT, KEY_AT(dma.channels), "1", "64", "2",
     "channels that issue requests side by side", "assumption: one each for reading and writing"},
    {"dma.queue_depth", KEY_COUNT, KEY_AT(dma.queue_depth), "1", "1024", "16",
     "requests outstanding", "assumption: covers the latency of the stack"},
    {"dma.request_bytes", KEY_COUNT, KEY_AT(dma.request_bytes), "64", "1048576", "4096",
     "the largest request, in bytes", "assumption: one sub-tile of 64 x 32 bf16"},
    {"dma.queue_commands", KEY_COUNT, KEY_AT(dma.queue_commands), "1", "1024", "8",
     "loads and stores accepted and not ended; at the next one the CPU stalls",
     "assumption: a short queue"},
};

#define PE(field, ...) {COLUMN_AT(COLUMN_PE, struct pe_result, dma.field), __VA_ARGS__}

static const struct column columns[] = {
    PE(read_bytes, "read_bytes", "bytes", "read from HBM by the PE's DMA"),
    PE(write_bytes, "write_bytes", "bytes", "written to HBM by the PE's DMA"),
    PE(requests, "requests", "1", "HBM requests: sub-tile fetches and pieces of loads and stores"),
};
/* clang-format on */

const struct part dma_part = {
    .name = "dma",
    PART_ROWS(keys, keys),
    PART_ROWS(columns, columns),
    .init = init,
    .fini = fini,
    .memory = memory,
    .collect_pe = collect,
};
