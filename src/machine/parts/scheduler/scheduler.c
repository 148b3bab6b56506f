#include "machine/machine.h"

static uint64_t extent(uint64_t size, uint64_t tile, uint64_t index)
{
    uint64_t left = size - index * tile;
    return left < tile ? left : tile;
}

static void fetch_next(struct lp *lp, const struct event *event, struct pe *pe)
{
    const struct machine_params *params = cube_of(lp)->params;
    uint16_t index = fifo_head(&pe->sched.fetch);
    struct flight *flight = &pe->flights[index];
    const struct operand *b = &flight->command.b;
    uint64_t bytes = extent(b->rows, params->sched.tile_k, flight->fetch_k) *
                     extent(b->cols, params->sched.tile_n, flight->fetch_n) *
                     dtype_bytes((enum dtype)b->dtype);
    struct dma_job job = {
        .access = {.requester = unit_of(lp->id, unit_pe(event->dst), UNIT_DMA),
                   .flight = index,
                   .share = (uint8_t)b->pe,
                   .kind = ACCESS_FETCH},
        .addr = flight->fetch_addr,
        .bytes = bytes,
        .first = flight->fetch_addr == b->addr,
    };
    dma_job_post(lp, event, lp->now, job);
    pe->sched.in_pipeline++;
    flight->fetch_addr += bytes;
    if (++flight->fetch_k == flight->k_tiles) {
        flight->fetch_k = 0;
        if (++flight->fetch_n == flight->n_tiles)
            fifo_pop(&pe->sched.fetch);
    }
}

static void pump(struct lp *lp, const struct event *event, struct pe *pe)
{
    uint64_t depth = cube_of(lp)->params->sched.pipeline_depth;
    while (pe->sched.fetch.count > 0 && pe->sched.in_pipeline < depth)
        fetch_next(lp, event, pe);
}

static void make_plan(const struct machine_params *params, struct flight *flight)
{
    const struct command *command = &flight->command;
    flight->m_tiles = pieces_of(command->a.rows, params->sched.tile_m);
    flight->k_tiles = pieces_of(command->b.rows, params->sched.tile_k);
    flight->n_tiles = pieces_of(command->b.cols, params->sched.tile_n);
    flight->fetch_k = flight->fetch_n = flight->n_done = 0;
    flight->fetch_addr = command->b.addr;
    flight->steps_left = flight->k_tiles * flight->n_tiles;
    flight->k_left = flight->k_tiles;
    flight->epilogues_left = 0;
}

void sched_command(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    uint16_t index = sched_command_body(event)->flight;
    struct flight *flight = &pe->flights[index];
    make_plan(cube_of(lp)->params, flight);
    if (flight->command.b.space == SPACE_HBM) {
        fifo_push(&pe->sched.fetch, index);
        pump(lp, event, pe);
    } else { /* everything is in scratch: the whole plan goes to the array at once */
        gemm_step_post(lp, event, lp->now, (struct steps_message){flight->steps_left, index});
    }
}

static void start_epilogue(struct lp *lp, const struct event *event, struct flight *flight,
                           uint16_t index, uint64_t columns)
{
    struct epilogue_message epilogue = {flight->command.a.rows * columns, index};
    math_epilogue_post(lp, event, lp->now, epilogue);
    flight->epilogues_left++;
}

static void end_if_complete(struct lp *lp, const struct event *event, struct pe *pe, uint16_t index)
{
    const struct machine_params *params = cube_of(lp)->params;
    struct flight *flight = &pe->flights[index];
    const struct command *command = &flight->command;
    if (flight->steps_left > 0 || flight->epilogues_left > 0)
        return;
    pe->sched.stats.useful_macs += (uint64_t)command->a.rows * command->b.rows * command->b.cols;
    /* Output tiles drain behind the array; only the last one's way to scratch is not hidden. */
    uint64_t last = extent(command->b.cols, params->sched.tile_n, flight->n_tiles - 1);
    uint64_t bytes = command->out.rows * last * dtype_bytes((enum dtype)command->out.dtype);
    uint64_t end = time_add(lp->now, scratch_move_ps(params, bytes));
    cpu_done_post(lp, event, end, (struct flight_message){index});
}

/* The columns of output that `done` more sub-tiles have completed. */
static uint64_t complete_columns(const struct machine_params *params, struct flight *flight,
                                 uint64_t done)
{
    uint64_t columns = 0;
    while (done >= flight->k_left) {
        done -= flight->k_left;
        flight->k_left = flight->k_tiles;
        columns += extent(flight->command.b.cols, params->sched.tile_n, flight->n_done++);
        if (flight->n_done == flight->n_tiles)
            return columns;
    }
    flight->k_left -= done;
    return columns;
}

void sched_step(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    const struct steps_message *done = sched_step_body(event);
    struct flight *flight = &pe->flights[done->flight];
    const struct command *command = &flight->command;
    flight->steps_left -= done->steps;
    uint64_t columns = complete_columns(cube_of(lp)->params, flight, done->steps);
    if (command->epilogue & EPILOGUE_SOFTMAX_MERGE) /* needs the row maxima of the whole tile */
        columns = flight->steps_left == 0 ? command->b.cols : 0;
    if (command->epilogue != EPILOGUE_NONE && columns > 0)
        start_epilogue(lp, event, flight, done->flight, columns);
    end_if_complete(lp, event, pe, done->flight);
    if (command->b.space == SPACE_HBM) {
        pe->sched.in_pipeline--;
        pump(lp, event, pe);
    }
}

void sched_epilogue(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    uint16_t index = sched_epilogue_body(event)->flight;
    pe->flights[index].epilogues_left--;
    end_if_complete(lp, event, pe, index);
}

uint64_t scheduler_steps(const struct machine_params *params, const struct command *command)
{
    return pieces_of(command->a.rows, params->sched.tile_m) *
           pieces_of(command->b.rows, params->sched.tile_k) *
           pieces_of(command->b.cols, params->sched.tile_n);
}

static void init(struct cube *cube, uint32_t number)
{
    fifo_init(&cube->pe[number].sched.fetch, (uint32_t)cube->params->sched.queue_commands);
}

static uint64_t memory(const struct machine_params *params)
{
    return part_block(params->sched.queue_commands, sizeof(uint16_t));
}

static void fini(struct pe *pe)
{
    fifo_fini(&pe->sched.fetch);
}

static void collect(const struct cube *cube, const struct pe *pe, struct pe_result *result)
{
    (void)cube;
    result->sched = pe->sched.stats;
}

static bool check(const struct machine_params *params, struct key_clash *clash)
{
    if (params->sched.pipeline_depth * params->sched.tile_k * params->sched.tile_n * 2 >
        params->scratch.bytes)
        return KEY_CLASH(
            clash, "scratch.capacity_bytes does not hold pipeline_depth * tile_k * tile_n bf16",
            "scheduler.pipeline_depth", "scheduler.tile_k", "scheduler.tile_n",
            "scratch.capacity_bytes");
    return true;
}

/* clang-format off */
static const struct key_row keys[] = {
    {"scheduler.tile_m", KEY_COUNT, KEY_AT(sched.tile_m), "1", "65536", "32",
     "rows of a GEMM step, in elements", "seed: TILE_M x TILE_K x TILE_N = 32 x 64 x 32"},
    {"scheduler.tile_k", KEY_COUNT, KEY_AT(sched.tile_k), "1", "65536", "64",
     "depth of a GEMM step, in elements", "seed: TILE_M x TILE_K x TILE_N = 32 x 64 x 32"},
    {"scheduler.tile_n", KEY_COUNT, KEY_AT(sched.tile_n), "1", "65536", "32",
     "columns of a GEMM step, in elements", "seed: TILE_M x TILE_K x TILE_N = 32 x 64 x 32"},
    {"scheduler.pipeline_depth", KEY_COUNT, KEY_AT(sched.pipeline_depth), "1", "1024", "8",
     "sub-tiles fetched and not yet multiplied", "assumption: covers the latency of the stack"},
    {"scheduler.queue_commands", KEY_COUNT, KEY_AT(sched.queue_commands), "1", "1024", "4",
     "composites accepted and not ended; at the next one the CPU stalls",
     "assumption: a short queue"},
};

static const struct column columns[] = {
    {COLUMN_AT(COLUMN_PE, struct pe_result, sched.useful_macs),
     "useful_macs", "1", "multiply-accumulates asked for: M * K * N of each command"},
};
/* clang-format on */

const struct part scheduler_part = {
    .name = "scheduler",
    PART_ROWS(keys, keys),
    PART_ROWS(columns, columns),
    .init = init,
    .fini = fini,
    .memory = memory,
    .check = check,
    .collect_pe = collect,
};
