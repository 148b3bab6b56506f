/* Assembles a CUBE from its parts, and tells what it measured. */
#include "hw/cube.h"

#include <assert.h>
#include <string.h>

#include "hw/machine.h"
#include "hw/route.h"
#include "support/memory.h"

enum { ROOM_START = 4, HEAP_BYTES = 16 /* what the heap adds to a block */ };

void ring_init(struct ring *ring, uint32_t capacity)
{
    *ring = (struct ring){memory_new(capacity, sizeof *ring->items), capacity, 0, 0};
}

void ring_fini(struct ring *ring)
{
    memory_free(ring->items);
}

void ring_push(struct ring *ring, uint16_t item)
{
    assert(ring->count < ring->capacity);
    ring->items[(ring->first + ring->count++) % ring->capacity] = item;
}

void *grown_ring(void *items, size_t bytes, uint32_t first, uint32_t *room, uint64_t most)
{
    uint32_t old = *room, before = old - first;
    *room = (uint32_t)time_min(old == 0 ? ROOM_START : 2 * (uint64_t)old, most);
    char *larger = memory_new(*room, bytes);
    if (old > 0) {
        memcpy(larger, (char *)items + first * bytes, before * bytes);
        memcpy(larger + before * bytes, items, first * bytes);
    }
    memory_free(items);
    return larger;
}

uint16_t ring_head(const struct ring *ring)
{
    assert(ring->count > 0);
    return ring->items[ring->first];
}

uint16_t ring_pop(struct ring *ring)
{
    uint16_t item = ring_head(ring);
    ring->first = ring->first + 1 == ring->capacity ? 0 : ring->first + 1;
    ring->count--;
    return item;
}

const struct lp_model *cube_model(void)
{
#define X(id, handler) handler,
    static lp_handler *const handlers[] = {HW_MESSAGES(X)};
#undef X
#define X(id, handler) #id,
    static const char *const names[] = {HW_MESSAGES(X)};
#undef X
    static const struct lp_model model = {.handlers = handlers,
                                          .names = names,
                                          .kinds = MESSAGES,
                                          .promise = cube_promise,
                                          .announce = cube_announce,
                                          .reaction = cube_reaction,
                                          .late = cube_late};
    return &model;
}

static uint32_t peer_of(const struct cube *cube, uint32_t pe, enum queue_id queue)
{
    const struct geometry *geometry = &cube->params->geometry;
    enum direction direction = queue_direction(queue);
    uint32_t other;
    switch (queue_level(queue)) {
    case LEVEL_PE:
        return pe_neighbour(geometry, pe, direction, &other) ? unit_of(cube->id, other, PART_IPCQ)
                                                             : NO_PEER;
    case LEVEL_CUBE:
        return cube_neighbour(geometry, cube->id, direction, &other) && other != cube->id
                   ? unit_of(other, pe, PART_IPCQ)
                   : NO_PEER;
    default:
        return sip_neighbour(geometry, cube->id, direction, &other) ? unit_of(other, pe, PART_IPCQ)
                                                                    : NO_PEER;
    }
}

/* What only queues to other CUBEs have. */
static void init_way(const struct cube *cube, struct ipcq_queue *queue)
{
    route_next(&cube->params->geometry, cube->id, unit_cube(queue->peer), &queue->link);
}

static void init_queues(struct cube *cube, uint32_t number)
{
    const struct hw_params *params = cube->params;
    for (uint32_t i = 0; i < QUEUES; i++) {
        struct ipcq_queue *queue = &cube->pe[number].ipcq.queue[i];
        queue->peer = peer_of(cube, number, (enum queue_id)i);
        queue->credits = (uint32_t)params->ipcq.slots;
        if (queue->peer == NO_PEER)
            continue;
        ring_init(&queue->sends, (uint32_t)params->ipcq.queue_commands);
        ring_init(&queue->recvs, (uint32_t)params->ipcq.queue_commands);
        if (queue_level((enum queue_id)i) != LEVEL_PE)
            init_way(cube, queue);
    }
}

static void init_pe(struct cube *cube, uint32_t number)
{
    const struct hw_params *params = cube->params;
    struct pe *pe = &cube->pe[number];
    pe->cpu.draft = NO_SLOT;
    pe->cpu.state = CPU_IDLE;
    pe->cpu.cause.kind = CAUSE_START;
    pe->cpu.cause.cube = cube->id;
    pe->cpu.cause.pe = (uint16_t)number;
    pe->result.first_issue_ps = TIME_NEVER;
    ring_init(&pe->sched.fetch, (uint32_t)params->sched.queue_commands);
    pe->dma.capacity = (uint32_t)(params->sched.pipeline_depth + params->dma.queue_commands);
    pe->dma.jobs = memory_new(pe->dma.capacity, sizeof *pe->dma.jobs);
    pe->dma.fetches = memory_new(params->sched.pipeline_depth, sizeof *pe->dma.fetches);
    pe->hbm.channels = memory_new(cube->share_channels, sizeof *pe->hbm.channels);
    pe->hbm.refresh_at_ps = memory_new(cube->share_channels, sizeof *pe->hbm.refresh_at_ps);
    for (uint32_t i = 0; i < cube->share_channels; i++)
        pe->hbm.refresh_at_ps[i] = params->hbm.refresh_interval_ps;
    outlook_init(&pe->outlook, &cube->cost, number);
    init_queues(cube, number);
}

struct cube *cube_new(const struct hw_params *params, struct lp *lp, struct trace_sink *trace)
{
    struct cube *cube = memory_new(1, sizeof *cube);
    cube->params = params;
    cube->lp = lp;
    cube->trace = trace;
    cube->id = lp->id;
    cube->pes = grid_size(params->geometry.pes);
    cube->pe = memory_new_aligned(cube->pes, sizeof *cube->pe, 64);
    cube->share_channels = (uint32_t)params->hbm.pseudo_channels / cube->pes;
    cube->channel_rate = rate_divide(params->hbm.rate, params->hbm.pseudo_channels);
    cube->cost = cost_of(params);
    for (uint32_t pe = 0; pe < cube->pes; pe++)
        init_pe(cube, pe);
    lp_set_units(lp, cube->pes * PARTS + 1);
    lp->state = cube;
    return cube;
}

/* A block of the heap. */
static uint64_t block(uint64_t count, size_t bytes)
{
    return count * bytes + HEAP_BYTES;
}

static uint64_t queue_memory(const struct hw_params *params)
{
    return 2 * block(params->ipcq.queue_commands, sizeof(uint16_t)) +
           block(ROOM_START, sizeof(struct arrived)) +
           2 * block(ROOM_START, sizeof(struct inbound_packet));
}

struct cube_memory cube_memory(const struct hw_params *params)
{
    uint64_t pes = grid_size(params->geometry.pes), channels = params->hbm.pseudo_channels / pes;
    uint64_t jobs = params->sched.pipeline_depth + params->dma.queue_commands;
    uint64_t pe_queues = QUEUES * queue_memory(params) + block(jobs, sizeof(struct dma_request)) +
                         block(params->sched.pipeline_depth, sizeof(struct dma_fetch)) +
                         block(params->sched.queue_commands, sizeof(uint16_t)) +
                         block(channels, sizeof(struct server)) + block(channels, sizeof(uint64_t));
    return (struct cube_memory){
        block(1, sizeof(struct cube)) + block(pes, sizeof(struct pe)),
        pes * pe_queues,
        block(2 * SLOTS_START, sizeof(struct slot)) + 2 * block(2 * SLOTS_START, sizeof(uint16_t)),
    };
}

static void free_pe(struct pe *pe)
{
    for (uint32_t i = 0; i < QUEUES; i++) {
        ring_fini(&pe->ipcq.queue[i].sends);
        ring_fini(&pe->ipcq.queue[i].recvs);
        memory_free(pe->ipcq.queue[i].arrived);
        memory_free(pe->ipcq.queue[i].data.packets);
        memory_free(pe->ipcq.queue[i].credit_packets.packets);
    }
    ring_fini(&pe->sched.fetch);
    memory_free(pe->slots);
    memory_free(pe->in_flight);
    memory_free(pe->free_slots);
    memory_free(pe->dma.jobs);
    memory_free(pe->dma.fetches);
    memory_free(pe->hbm.channels);
    memory_free(pe->hbm.refresh_at_ps);
    if (pe->program != NULL)
        pe->program->ops->destroy(pe->program);
}

void cube_free(struct cube *cube)
{
    if (cube == NULL)
        return;
    for (uint32_t pe = 0; pe < cube->pes; pe++)
        free_pe(&cube->pe[pe]);
    memory_free(cube->passing);
    memory_free(cube->pe);
    memory_free(cube);
}

void cube_run_program(struct cube *cube, uint32_t pe, struct program *program, uint64_t emissions)
{
    uint32_t cpu = unit_of(cube->id, pe, PART_CPU);
    cube->pe[pe].program = program;
    cube->pe[pe].emissions = emissions;
    cube->pe[pe].cpu.state = CPU_READY;
    lp_send(cube->lp, cpu, cpu, MSG_CPU_RUN, 0);
}

void cube_forgo_lookahead(struct cube *cube)
{
    cube->short_sighted = true;
}

void cube_set_values(struct cube *cube, struct value_engine *values)
{
    cube->values = values;
}

void cube_result(const struct cube *cube, struct cube_result *result)
{
    memset(result, 0, sizeof *result);
    for (int i = 0; i < 2 * DIRECTIONS; i++) {
        result->link_busy_ps[i] = cube->links[i].server.busy_ps;
        result->link_bytes[i] = cube->links[i].bytes;
        result->link_packets[i] = cube->links[i].packets;
        result->link_wait_max_ps[i] = cube->links[i].wait_max_ps;
    }
    result->events = cube->lp->events;
    result->digest = cube->lp->digest;
}

void cube_pe_result(const struct cube *cube, uint32_t number, struct pe_result *result)
{
    const struct pe *pe = &cube->pe[number];
    *result = pe->result;
    result->busy_ps[ENGINE_CPU] = pe->cpu.busy_ps;
    result->busy_ps[ENGINE_DMA] = pe->dma.activity.busy_ps;
    result->busy_ps[ENGINE_GEMM] = pe->gemm.busy_ps;
    result->busy_ps[ENGINE_MATH] = pe->math.busy_ps;
    result->busy_ps[ENGINE_IPCQ] = pe->ipcq.activity.busy_ps;
    result->commands = pe->cpu.commands;
    result->hbm_read_bytes = pe->hbm.read_bytes;
    result->hbm_write_bytes = pe->hbm.write_bytes;
    for (uint32_t i = 0; i < cube->share_channels; i++)
        result->hbm_busy_ps = time_max(result->hbm_busy_ps, pe->hbm.channels[i].busy_ps);
    for (int i = 0; i < DIRECTIONS; i++) {
        result->link_busy_ps[i] = pe->links[i].server.busy_ps;
        result->link_bytes[i] = pe->links[i].bytes;
    }
    if (pe->program != NULL)
        result->scratch_high_water_bytes = pe->program->scratch_high_water;
}
