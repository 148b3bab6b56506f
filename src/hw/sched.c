/* The scheduler turns a composite into a plan of TILE_M x TILE_K x TILE_N steps: for each output
 * tile of TILE_N columns, its K sub-tiles in order. A sub-tile of `b` is fetched once and serves
 * all M-tiles; up to `pipeline_depth` of them are in flight. An output tile that is complete goes
 * through the epilogue. */
#include "hw/machine.h"

static uint64_t extent(uint64_t size, uint64_t tile, uint64_t index)
{
    uint64_t left = size - index * tile;
    return left < tile ? left : tile;
}

static void fetch_next(struct lp *lp, const struct event *event, struct pe *pe)
{
    const struct hw_params *params = cube_of(lp)->params;
    uint16_t index = ring_head(&pe->sched.fetch);
    struct slot *slot = &pe->slots[index];
    const struct operand *b = &slot->command.b;
    uint64_t bytes = extent(b->rows, params->sched.tile_k, slot->fetch_k) *
                     extent(b->cols, params->sched.tile_n, slot->fetch_n) *
                     dtype_bytes((enum dtype)b->dtype);
    struct access access = {unit_of(lp->id, unit_pe(event->dst), PART_DMA), b->pe, index,
                            ACCESS_FETCH};
    struct event *job = send_part(lp, event, PART_DMA, MSG_DMA_JOB, lp->now);
    job->arg[0] = access_pack(access);
    job->arg[1] = slot->fetch_addr;
    job->arg[2] = bytes;
    job->arg[3] = slot->fetch_addr == b->addr;
    pe->sched.in_pipeline++;
    slot->fetch_addr += bytes;
    if (++slot->fetch_k == slot->k_tiles) {
        slot->fetch_k = 0;
        if (++slot->fetch_n == slot->n_tiles)
            ring_pop(&pe->sched.fetch);
    }
}

static void pump(struct lp *lp, const struct event *event, struct pe *pe)
{
    uint64_t depth = cube_of(lp)->params->sched.pipeline_depth;
    while (pe->sched.fetch.count > 0 && pe->sched.in_pipeline < depth)
        fetch_next(lp, event, pe);
}

static void make_plan(const struct hw_params *params, struct slot *slot)
{
    const struct command *command = &slot->command;
    slot->m_tiles = pieces_of(command->a.rows, params->sched.tile_m);
    slot->k_tiles = pieces_of(command->b.rows, params->sched.tile_k);
    slot->n_tiles = pieces_of(command->b.cols, params->sched.tile_n);
    slot->fetch_k = slot->fetch_n = slot->n_done = 0;
    slot->fetch_addr = command->b.addr;
    slot->steps_left = slot->k_tiles * slot->n_tiles;
    slot->k_left = slot->k_tiles;
    slot->epilogues_left = 0;
}

void sched_command(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    uint16_t index = (uint16_t)event->arg[0];
    struct slot *slot = &pe->slots[index];
    make_plan(cube_of(lp)->params, slot);
    if (slot->command.b.space == SPACE_HBM) {
        ring_push(&pe->sched.fetch, index);
        pump(lp, event, pe);
    } else { /* everything is in scratch: the whole plan goes to the array at once */
        struct event *step = send_part(lp, event, PART_GEMM, MSG_GEMM_STEP, lp->now);
        step->arg[0] = index;
        step->arg[1] = slot->steps_left;
    }
}

static void start_epilogue(struct lp *lp, const struct event *event, struct slot *slot,
                           uint64_t columns)
{
    struct event *epilogue = send_part(lp, event, PART_MATH, MSG_MATH_EPILOGUE, lp->now);
    epilogue->arg[0] = event->arg[0];
    epilogue->arg[1] = slot->command.a.rows * columns;
    slot->epilogues_left++;
}

static void end_if_complete(struct lp *lp, const struct event *event, struct pe *pe,
                            struct slot *slot)
{
    if (slot->steps_left > 0 || slot->epilogues_left > 0)
        return;
    const struct hw_params *params = cube_of(lp)->params;
    const struct command *command = &slot->command;
    pe->result.useful_macs += (uint64_t)command->a.rows * command->b.rows * command->b.cols;
    /* Output tiles drain behind the array; only the last one's way to scratch is not hidden. */
    uint64_t last = extent(command->b.cols, params->sched.tile_n, slot->n_tiles - 1);
    uint64_t bytes = command->out.rows * last * dtype_bytes((enum dtype)command->out.dtype);
    uint64_t end = time_add(lp->now, rate_duration(params->scratch.rate, bytes));
    send_part(lp, event, PART_CPU, MSG_CPU_DONE, end)->arg[0] = event->arg[0];
}

/* The columns of output that `done` more sub-tiles have completed. */
static uint64_t complete_columns(const struct hw_params *params, struct slot *slot, uint64_t done)
{
    uint64_t columns = 0;
    while (done >= slot->k_left) {
        done -= slot->k_left;
        slot->k_left = slot->k_tiles;
        columns += extent(slot->command.b.cols, params->sched.tile_n, slot->n_done++);
        if (slot->n_done == slot->n_tiles)
            return columns;
    }
    slot->k_left -= done;
    return columns;
}

void sched_step(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    struct slot *slot = &pe->slots[event->arg[0]];
    const struct command *command = &slot->command;
    slot->steps_left -= event->arg[1];
    uint64_t columns = complete_columns(cube_of(lp)->params, slot, event->arg[1]);
    if (command->epilogue & EPILOGUE_SOFTMAX_MERGE) /* needs the row maxima of the whole tile */
        columns = slot->steps_left == 0 ? command->b.cols : 0;
    if (command->epilogue != EPILOGUE_NONE && columns > 0)
        start_epilogue(lp, event, slot, columns);
    end_if_complete(lp, event, pe, slot);
    if (command->b.space == SPACE_HBM) {
        pe->sched.in_pipeline--;
        pump(lp, event, pe);
    }
}

void sched_epilogue(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    struct slot *slot = &pe->slots[event->arg[0]];
    slot->epilogues_left--;
    end_if_complete(lp, event, pe, slot);
}
