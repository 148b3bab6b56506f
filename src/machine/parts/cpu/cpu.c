#include "machine/lookahead/lookahead.h"
#include "machine/machine.h"
#include "support/memory.h"

#include <stddef.h>

static void fail_recording(struct lp *lp, const struct pe *pe)
{
    lp->error = pe->program->error;
}

/* What the queues accept bounds their number. */
static void add_flights(struct pe *pe)
{
    uint32_t count = pe->flights_count == 0 ? FLIGHTS_START : 2 * pe->flights_count;
    if (count > NO_FLIGHT)
        error_bug("a PE has %u commands in flight", pe->flights_count);
    pe->flights = memory_resize(pe->flights, count, sizeof *pe->flights);
    pe->in_flight = memory_resize(pe->in_flight, count, sizeof *pe->in_flight);
    pe->free_flights = memory_resize(pe->free_flights, count, sizeof *pe->free_flights);
    while (count > pe->flights_count)
        pe->free_flights[pe->free_count++] = (uint16_t)--count;
    pe->flights_count += pe->free_count;
}

/* Takes the next command into a flight. False: none to issue now. */
static bool take(struct lp *lp, struct pe *pe)
{
    struct cpu *cpu = &pe->cpu;
    const struct command *command = pe->program->ops->next(pe->program);
    if (command->op == OP_FAIL)
        fail_recording(lp, pe);
    if (command->op == OP_FAIL || command->op == OP_END) {
        cpu->state = CPU_ENDED;
        return false;
    }
    if (pe->free_count == 0)
        add_flights(pe);
    cpu->draft = pe->free_flights[--pe->free_count];
    struct flight *flight = &pe->flights[cpu->draft];
    flight->command = *command;
    flight->number = ++cpu->stats.commands;
    flight->least_end_ps = 0;
    flight_note_spans(flight);
    return true;
}

uint32_t cpu_queue(const struct command *command)
{
    switch (command->op) {
    case OP_COMPOSITE:
    case OP_DOT:
        return CPU_QUEUE_SCHED;
    case OP_LOAD:
    case OP_STORE:
        return CPU_QUEUE_DMA;
    case OP_SEND:
        return CPU_QUEUE_SENDS + command->queue;
    case OP_RECV:
    case OP_RECV_ASYNC:
        return CPU_QUEUE_RECVS + command->queue;
    default:
        return CPU_QUEUE_NONE;
    }
}

static uint64_t limit(const struct machine_params *params, uint32_t queue)
{
    switch (queue) {
    case CPU_QUEUE_SCHED:
        return params->sched.queue_commands;
    case CPU_QUEUE_DMA:
        return params->dma.queue_commands;
    case CPU_QUEUE_NONE:
        return UINT64_MAX;
    default:
        return params->ipcq.queue_commands;
    }
}

static bool stalled(const struct cube *cube, struct pe *pe)
{
    struct cpu *cpu = &pe->cpu;
    const struct flight *flight = &pe->flights[cpu->draft];
    uint32_t queue = cpu_queue(&flight->command);
    cpu->state = CPU_STALLED;
    cpu->stall = CAUSE_OPERAND;
    if (scoreboard_conflict(pe, flight))
        return true;
    cpu->stall = CAUSE_QUEUE;
    return cpu->accepted[queue] >= limit(cube->params, queue);
}

static void count_command(struct pe *pe, const struct command *command)
{
    uint64_t *counts = pe->cpu.stats.counts;
    switch (command->op) {
    case OP_LOAD:
        counts[COUNT_DMA_READ]++;
        break;
    case OP_STORE:
        counts[COUNT_DMA_WRITE]++;
        break;
    case OP_COMPOSITE:
        counts[COUNT_DMA_READ] += command->b.space == SPACE_HBM;
        counts[COUNT_GEMM]++;
        break;
    case OP_DOT:
        counts[COUNT_GEMM]++;
        break;
    case OP_MATH:
        counts[COUNT_MATH]++;
        break;
    case OP_SEND:
        counts[COUNT_IPCQ_COPY]++;
        break;
    default:
        break;
    }
}

static void start_transfer(struct lp *lp, const struct event *event, struct flight *flight,
                           uint16_t index, uint64_t time)
{
    bool load = flight->command.op == OP_LOAD;
    const struct operand *hbm = load ? &flight->command.a : &flight->command.out;
    flight->bytes_left = operand_bytes(hbm);
    struct dma_job job = {
        .access = {.requester = unit_of(lp->id, unit_pe(event->dst), UNIT_DMA),
                   .flight = index,
                   .share = (uint8_t)hbm->pe,
                   .kind = load ? ACCESS_LOAD : ACCESS_STORE},
        .addr = hbm->addr,
        .bytes = flight->bytes_left,
        .first = true, /* a new operand: it has to be set up */
    };
    dma_job_post(lp, event, time, job);
}

static void hand_over(struct lp *lp, const struct event *event, struct flight *flight,
                      uint16_t index, uint64_t time)
{
    struct flight_message message = {index};
    switch (flight->command.op) {
    case OP_COMPOSITE:
    case OP_DOT:
        sched_command_post(lp, event, time, message);
        break;
    case OP_MATH:
        math_run_post(lp, event, time, message);
        break;
    case OP_SEND:
        ipcq_send_post(lp, event, time, message);
        break;
    case OP_RECV:
    case OP_RECV_ASYNC:
        ipcq_recv_post(lp, event, time, message);
        break;
    default:
        start_transfer(lp, event, flight, index, time);
    }
}

static void trace_flight(const struct cube *cube, uint32_t pe, const struct flight *flight,
                         uint64_t end)
{
    const struct command *command = &flight->command;
    const struct operand *moved = command->op == OP_COMPOSITE ? &command->b
                                  : command->op == OP_SEND    ? &command->a
                                                              : &command->out;
    bool moves = command->op == OP_COMPOSITE ? moved->space == SPACE_HBM
                                             : command->op != OP_MATH && command->op != OP_DOT;
    struct trace_record record = {
        .command = flight->number,
        .issue_ps = flight->issue_ps,
        .start_ps = flight->start_ps,
        .end_ps = end,
        .bytes = moves ? operand_bytes(moved) : 0,
        .cause_command = flight->cause.command,
        .cube = cube->id,
        .cause_cube = flight->cause.cube,
        .pe = (uint16_t)pe,
        .cause_pe = flight->cause.pe,
        .engine = (uint8_t)op_engine((enum op)command->op),
        .op = command->op,
        .fn = command->op == OP_MATH ? command->fn : 0,
        .cause = flight->cause.kind,
    };
    cube->trace->put(cube->trace, &record);
}

/* Whether the command has values of its own; those of messages move with their packets. */
static bool computes(const struct command *command)
{
    return op_engine((enum op)command->op) != ENGINE_IPCQ && command->op != OP_WAIT;
}

static void enter_flight(struct pe *pe, uint16_t index)
{
    pe->flights[index].place = pe->in_flight_count;
    pe->in_flight[pe->in_flight_count++] = index;
}

static void leave_flight(struct pe *pe, uint16_t index)
{
    uint32_t place = pe->flights[index].place;
    uint16_t last = pe->in_flight[--pe->in_flight_count];
    pe->in_flight[place] = last;
    pe->flights[last].place = place;
    pe->free_flights[pe->free_count++] = index;
}

/* Ends a command: its flight is free again. */
static void retire(struct lp *lp, struct pe *pe, uint32_t pe_number, uint16_t index, uint64_t end)
{
    struct cube *cube = cube_of(lp);
    struct cpu_stats *stats = &pe->cpu.stats;
    struct flight *flight = &pe->flights[index];
    pe->cpu.accepted[cpu_queue(&flight->command)]--;
    if (flight->command.op == OP_STORE)
        stats->last_store_ps = time_max(stats->last_store_ps, end);
    stats->last_end_ps = time_max(stats->last_end_ps, end);
    stats->op_commands[flight->command.op]++;
    stats->op_time_ps[flight->command.op] += end - flight->start_ps;
    stats->op_wait_ps[flight->command.op] += flight->start_ps - flight->issue_ps;
    leave_flight(pe, index);
    if (cube->values != NULL && computes(&flight->command))
        cube->values->ops->complete(cube->values, pe_number, &flight->command);
    if (cube->trace != NULL)
        trace_flight(cube, pe_number, flight, end);
}

/* Counts what a message command moves through its queue. */
static void note_message(const struct machine_params *params, struct cpu *cpu,
                         struct flight *flight)
{
    const struct command *command = &flight->command;
    bool send = command->op == OP_SEND;
    cpu->emitted += command_emits(command);
    if (!send && command->op != OP_RECV && command->op != OP_RECV_ASYNC)
        return;
    flight->message = send ? cpu->sent[command->queue]++ : cpu->taken[command->queue]++;
    uint64_t *fragments = send ? &cpu->out[command->queue] : &cpu->in[command->queue];
    *fragments += ipcq_fragments(params, command);
    flight->last_fragment = *fragments;
    flight->bytes_left = operand_bytes(send ? &command->a : &command->out);
}

/* Promises rest on what the kernel recorded before. */
static bool foreseen(struct lp *lp, struct pe *pe, const struct flight *flight, uint64_t serial_ps)
{
    const struct command *command = &flight->command;
    uint32_t number = unit_pe(lp->current.dst);
    if (lookahead_issued(cube_of(lp)->lookahead, number, pe->program, command, serial_ps) &&
        pe->cpu.emitted <= pe->emissions)
        return true;
    return error_set(
        &lp->error, ERROR_FAILED,
        "kernel %s, CUBE %u PE %u, command %llu (%s:%u): %s %s was not there, or not after "
        "the same work, when the kernel was recorded before: a kernel must be a pure function of "
        "its launch",
        pe->program->kernel, lp->id, number, (unsigned long long)flight->number, command->file,
        command->line, op_name((enum op)command->op), queue_name((enum queue_id)command->queue));
}

/* Issues the drafted command at the LP's clock; the next one follows by message. */
static void issue(struct lp *lp, const struct event *event, struct pe *pe)
{
    struct cube *cube = cube_of(lp);
    struct cpu *cpu = &pe->cpu;
    uint16_t index = cpu->draft;
    struct flight *flight = &pe->flights[index];
    const struct command *command = &flight->command;
    uint64_t cost = cube->params->cpu.issue_ps[command->op];
    uint64_t serial = cpu_serial_ps(cube->params, command), before = cpu->serial_ps;
    cpu->draft = NO_FLIGHT;
    cpu->busy_ps += cost;
    cpu->serial_ps = time_add(before, serial);
    cpu->busy_until_ps = time_add(lp->now, serial);
    flight->issue_ps = flight->start_ps = lp->now;
    flight->cause = cpu->cause;
    cpu->cause =
        (struct cause){flight->number, lp->id, (uint16_t)unit_pe(event->dst), CAUSE_PROGRAM};
    cpu->stats.first_issue_ps = time_min(cpu->stats.first_issue_ps, lp->now);
    cpu->accepted[cpu_queue(command)]++;
    enter_flight(pe, index);
    count_command(pe, command);
    note_message(cube->params, cpu, flight);
    if (!foreseen(lp, pe, flight, before + cost))
        return;
    if (command->op == OP_WAIT)
        retire(lp, pe, unit_pe(event->dst), index, lp->now + cost);
    else
        hand_over(lp, event, flight, index, lp->now + cost);
    cpu->state = op_blocks((enum op)command->op) ? CPU_BLOCKED : CPU_READY;
    cpu->blocked_on = index;
    if (cpu->state == CPU_READY)
        cpu_run_post(lp, event, lp->now + cost, (struct nothing){0});
}

static void advance(struct lp *lp, const struct event *event, struct pe *pe)
{
    if (pe->cpu.draft == NO_FLIGHT && !take(lp, pe))
        return;
    if (!stalled(cube_of(lp), pe))
        issue(lp, event, pe);
}

void cpu_run(struct lp *lp, const struct event *event)
{
    advance(lp, event, pe_of(lp, event));
}

void cpu_done(struct lp *lp, const struct event *event)
{
    struct pe *pe = pe_of(lp, event);
    struct cpu *cpu = &pe->cpu;
    uint16_t index = cpu_done_body(event)->flight;
    uint32_t number = unit_pe(event->dst);
    retire(lp, pe, number, index, lp->now);
    if (cpu->state == CPU_BLOCKED && cpu->blocked_on == index) {
        advance(lp, event, pe);
    } else if (cpu->state == CPU_STALLED) {
        cpu->cause =
            (struct cause){pe->flights[index].number, lp->id, (uint16_t)number, cpu->stall};
        advance(lp, event, pe);
    }
}

static void init(struct cube *cube, uint32_t number)
{
    struct cpu *cpu = &cube->pe[number].cpu;
    cpu->draft = NO_FLIGHT;
    cpu->state = CPU_IDLE;
    cpu->cause = (struct cause){0, cube->id, (uint16_t)number, CAUSE_START};
    cpu->stats.first_issue_ps = TIME_NEVER;
}

static void fini(struct pe *pe)
{
    memory_free(pe->flights);
    memory_free(pe->in_flight);
    memory_free(pe->free_flights);
}

static void collect(const struct cube *cube, const struct pe *pe, struct pe_result *result)
{
    (void)cube;
    result->cpu = pe->cpu.stats;
    result->busy_ps[ENGINE_CPU] = pe->cpu.busy_ps;
    if (pe->program != NULL)
        result->cpu.scratch_high_water_bytes = pe->program->scratch_high_water;
}

/* clang-format off */
static const struct key_row keys[] = {
    {"cpu.issue_composite_ns", KEY_NS, KEY_AT(cpu.issue_ps[OP_COMPOSITE]), "0", "1000000", "40",
     "CPU time to issue a composite command, in ns", "seed: ADR-0064, about 40 ns"},
    {"cpu.issue_dot_ns", KEY_NS, KEY_AT(cpu.issue_ps[OP_DOT]), "0", "1000000", "4",
     "CPU time to issue a blocking dot, in ns",
     "assumption: ADR-0064 has primitives far below a composite"},
    {"cpu.issue_load_ns", KEY_NS, KEY_AT(cpu.issue_ps[OP_LOAD]), "0", "1000000", "4",
     "CPU time to issue a load, in ns", "assumption: as issue_dot_ns"},
    {"cpu.issue_store_ns", KEY_NS, KEY_AT(cpu.issue_ps[OP_STORE]), "0", "1000000", "4",
     "CPU time to issue a store, in ns", "assumption: as issue_dot_ns"},
    {"cpu.issue_math_ns", KEY_NS, KEY_AT(cpu.issue_ps[OP_MATH]), "0", "1000000", "2",
     "CPU time to issue a MATH command, in ns", "assumption: half of issue_dot_ns"},
    {"cpu.issue_send_ns", KEY_NS, KEY_AT(cpu.issue_ps[OP_SEND]), "0", "1000000", "4",
     "CPU time to issue a send, in ns", "assumption: as issue_dot_ns"},
    {"cpu.issue_recv_ns", KEY_NS, KEY_AT(cpu.issue_ps[OP_RECV]), "0", "1000000", "4",
     "CPU time to issue a recv or a recv_async, in ns", "assumption: as issue_dot_ns"},
    {"cpu.issue_wait_ns", KEY_NS, KEY_AT(cpu.issue_ps[OP_WAIT]), "0", "1000000", "1",
     "CPU time to issue a wait, in ns", "assumption: one test of a flag"},
};
/* clang-format on */

static const char *op_at(uint32_t at)
{
    return op_name((enum op)at);
}

static const char *kind_at(uint32_t at)
{
    return count_kind_name((enum count_kind)at);
}

#define PE(field, ...)                                                                             \
    {                                                                                              \
        COLUMN_AT(COLUMN_PE, struct pe_result, cpu.field), __VA_ARGS__                             \
    }
#define BY_OPERATION(field, ...)                                                                   \
    {                                                                                              \
        COLUMN_ARRAY(COLUMN_PE_SUMMARY, struct pe_result, cpu.field, PROG_OPS_RUN, op),            \
            __VA_ARGS__                                                                            \
    }

/* clang-format off */
static const struct column columns[] = {
    {COLUMN_ARRAY(COLUMN_PE, struct pe_result, cpu.counts, COUNT_KINDS, kind),
     "commands", "1", "commands counted by kind"},
    PE(commands, "commands_taken", "1", "commands taken from the PE's program"),
    BY_OPERATION(op_commands, "op_commands", "1",
                 "commands by operation"),
    BY_OPERATION(op_time_ps, "op_time_ps", "ps",
                 "sum over commands from start to end"),
    BY_OPERATION(op_wait_ps, "op_wait_ps", "ps",
                 "sum over commands from issue to start"),
    PE(scratch_high_water_bytes, "scratch_high_water_bytes", "bytes", "most scratch in use at once"),
    PE(first_issue_ps, "first_issue_ps", "ps",
       "issue of the first command; 18446744073709551615: no command"),
    PE(last_store_ps, "last_store_ps", "ps", "end of the last store; 0: none"),
    PE(last_end_ps, "last_end_ps", "ps", "end of the last command"),
};
/* clang-format on */

const struct part cpu_part = {
    .name = "cpu",
    PART_ROWS(keys, keys),
    PART_ROWS(columns, columns),
    .init = init,
    .fini = fini,
    .collect_pe = collect,
};
