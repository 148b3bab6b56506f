/* The CPU issues the program's commands in order, each at the cost of its kind. It stalls while a
 * command in flight touches what the next one needs, or while the queue it must enter is full; a
 * blocking command holds it until it has ended. */
#include "hw/machine.h"
#include "support/memory.h"

#include <stddef.h>

static void fail_recording(struct lp *lp, const struct pe *pe)
{
    lp->error = pe->program->error;
}

/* What the queues accept bounds their number. */
static void add_slots(struct pe *pe)
{
    uint32_t count = pe->slots_count == 0 ? SLOTS_START : 2 * pe->slots_count;
    if (count > NO_SLOT)
        error_bug("a PE has %u commands in flight", pe->slots_count);
    pe->slots = memory_resize(pe->slots, count, sizeof *pe->slots);
    pe->in_flight = memory_resize(pe->in_flight, count, sizeof *pe->in_flight);
    pe->free_slots = memory_resize(pe->free_slots, count, sizeof *pe->free_slots);
    while (count > pe->slots_count)
        pe->free_slots[pe->free_count++] = (uint16_t)--count;
    pe->slots_count += pe->free_count;
}

/* Takes the next command into a slot. False: none to issue now. */
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
        add_slots(pe);
    cpu->draft = pe->free_slots[--pe->free_count];
    struct slot *slot = &pe->slots[cpu->draft];
    slot->command = *command;
    slot->number = ++cpu->commands;
    slot->least_end_ps = 0;
    slot_note_ranges(slot);
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

static uint64_t limit(const struct hw_params *params, uint32_t queue)
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
    const struct slot *slot = &pe->slots[cpu->draft];
    uint32_t queue = cpu_queue(&slot->command);
    cpu->state = CPU_STALLED;
    cpu->stall = CAUSE_OPERAND;
    if (scoreboard_conflict(pe, slot))
        return true;
    cpu->stall = CAUSE_QUEUE;
    return cpu->accepted[queue] >= limit(cube->params, queue);
}

static void count_command(struct pe *pe, const struct command *command)
{
    uint64_t *counts = pe->result.counts;
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

static void start_transfer(struct lp *lp, const struct event *event, struct slot *slot,
                           uint16_t index, uint64_t time)
{
    bool load = slot->command.op == OP_LOAD;
    const struct operand *hbm = load ? &slot->command.a : &slot->command.out;
    slot->bytes_left = operand_bytes(hbm);
    struct access access = {unit_of(lp->id, unit_pe(event->dst), PART_DMA), hbm->pe, index,
                            load ? ACCESS_LOAD : ACCESS_STORE};
    struct event *job = send_part(lp, event, PART_DMA, MSG_DMA_JOB, time);
    job->arg[0] = access_pack(access);
    job->arg[1] = hbm->addr;
    job->arg[2] = slot->bytes_left;
    job->arg[3] = true; /* a new operand: it has to be set up */
}

static void hand_over(struct lp *lp, const struct event *event, struct slot *slot, uint16_t index,
                      uint64_t time)
{
    static const struct {
        uint8_t part, message;
    } targets[OP_COUNT] = {
        [OP_COMPOSITE] = {PART_SCHED, MSG_SCHED_COMMAND},
        [OP_DOT] = {PART_SCHED, MSG_SCHED_COMMAND},
        [OP_MATH] = {PART_MATH, MSG_MATH_RUN},
        [OP_SEND] = {PART_IPCQ, MSG_IPCQ_SEND},
        [OP_RECV] = {PART_IPCQ, MSG_IPCQ_RECV},
        [OP_RECV_ASYNC] = {PART_IPCQ, MSG_IPCQ_RECV},
    };
    uint8_t op = slot->command.op;
    if (op == OP_LOAD || op == OP_STORE)
        start_transfer(lp, event, slot, index, time);
    else
        send_part(lp, event, (enum part)targets[op].part, (enum message)targets[op].message, time)
            ->arg[0] = index;
}

static void trace_slot(const struct cube *cube, uint32_t pe, const struct slot *slot, uint64_t end)
{
    const struct command *command = &slot->command;
    const struct operand *moved = command->op == OP_COMPOSITE ? &command->b
                                  : command->op == OP_SEND    ? &command->a
                                                              : &command->out;
    bool moves = command->op == OP_COMPOSITE ? moved->space == SPACE_HBM
                                             : command->op != OP_MATH && command->op != OP_DOT;
    struct trace_record record = {
        .command = slot->number,
        .issue_ps = slot->issue_ps,
        .start_ps = slot->start_ps,
        .end_ps = end,
        .bytes = moves ? operand_bytes(moved) : 0,
        .cause_command = slot->cause.command,
        .cube = cube->id,
        .cause_cube = slot->cause.cube,
        .pe = (uint16_t)pe,
        .cause_pe = slot->cause.pe,
        .engine = (uint8_t)op_engine((enum op)command->op),
        .op = command->op,
        .fn = command->op == OP_MATH ? command->fn : 0,
        .cause = slot->cause.kind,
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
    pe->slots[index].place = pe->in_flight_count;
    pe->in_flight[pe->in_flight_count++] = index;
}

static void leave_flight(struct pe *pe, uint16_t index)
{
    uint32_t place = pe->slots[index].place;
    uint16_t last = pe->in_flight[--pe->in_flight_count];
    pe->in_flight[place] = last;
    pe->slots[last].place = place;
    pe->free_slots[pe->free_count++] = index;
}

/* Ends a command: its slot is free again. */
static void retire(struct lp *lp, struct pe *pe, uint32_t pe_number, uint16_t index, uint64_t end)
{
    struct cube *cube = cube_of(lp);
    struct slot *slot = &pe->slots[index];
    pe->cpu.accepted[cpu_queue(&slot->command)]--;
    if (slot->command.op == OP_STORE)
        pe->result.last_store_ps = time_max(pe->result.last_store_ps, end);
    pe->result.last_end_ps = time_max(pe->result.last_end_ps, end);
    pe->result.op_commands[slot->command.op]++;
    pe->result.op_time_ps[slot->command.op] += end - slot->start_ps;
    pe->result.op_wait_ps[slot->command.op] += slot->start_ps - slot->issue_ps;
    leave_flight(pe, index);
    if (cube->values != NULL && computes(&slot->command))
        cube->values->ops->complete(cube->values, pe_number, &slot->command);
    if (cube->trace != NULL)
        trace_slot(cube, pe_number, slot, end);
}

/* Counts what a message command moves through its queue. */
static void note_message(const struct hw_params *params, struct cpu *cpu, struct slot *slot)
{
    const struct command *command = &slot->command;
    bool send = command->op == OP_SEND;
    cpu->emitted += command_emits(command);
    if (!send && command->op != OP_RECV && command->op != OP_RECV_ASYNC)
        return;
    slot->message = send ? cpu->sent[command->queue]++ : cpu->taken[command->queue]++;
    uint64_t *fragments = send ? &cpu->out[command->queue] : &cpu->in[command->queue];
    *fragments += command_fragments(params, command);
    slot->last_fragment = *fragments;
    slot->bytes_left = operand_bytes(send ? &command->a : &command->out);
}

/* Promises rest on what the kernel recorded before. */
static bool foreseen(struct lp *lp, struct pe *pe, const struct slot *slot, uint64_t serial_ps)
{
    const struct command *command = &slot->command;
    if (!outlook_records(command) || (outlook_pop(&pe->outlook, pe->program, command, serial_ps) &&
                                      pe->cpu.emitted <= pe->emissions))
        return true;
    return error_set(
        &lp->error, ERROR_FAILED,
        "kernel %s, CUBE %u PE %u, command %llu (%s:%u): %s %s was not there, or not after "
        "the same work, when the kernel was recorded before: a kernel must be a pure function of "
        "its launch",
        pe->program->kernel, lp->id, unit_pe(lp->current.dst), (unsigned long long)slot->number,
        command->file, command->line, op_name((enum op)command->op),
        queue_name((enum queue_id)command->queue));
}

/* Issues the drafted command at the LP's clock; the next one follows by message. */
static void issue(struct lp *lp, const struct event *event, struct pe *pe)
{
    struct cube *cube = cube_of(lp);
    struct cpu *cpu = &pe->cpu;
    uint16_t index = cpu->draft;
    struct slot *slot = &pe->slots[index];
    const struct command *command = &slot->command;
    uint64_t cost = cube->params->cpu.issue_ps[command->op];
    uint64_t serial = command_serial_ps(&cube->cost, command), before = cpu->serial_ps;
    cpu->draft = NO_SLOT;
    cpu->busy_ps += cost;
    cpu->serial_ps = time_add(before, serial);
    cpu->busy_until_ps = time_add(lp->now, serial);
    slot->issue_ps = slot->start_ps = lp->now;
    slot->cause = cpu->cause;
    cpu->cause = (struct cause){slot->number, lp->id, (uint16_t)unit_pe(event->dst), CAUSE_PROGRAM};
    pe->result.first_issue_ps = time_min(pe->result.first_issue_ps, lp->now);
    cpu->accepted[cpu_queue(command)]++;
    enter_flight(pe, index);
    count_command(pe, command);
    note_message(cube->params, cpu, slot);
    if (!foreseen(lp, pe, slot, before + cost))
        return;
    if (command->op == OP_WAIT)
        retire(lp, pe, unit_pe(event->dst), index, lp->now + cost);
    else
        hand_over(lp, event, slot, index, lp->now + cost);
    cpu->state = op_blocks((enum op)command->op) ? CPU_BLOCKED : CPU_READY;
    cpu->blocked_on = index;
    if (cpu->state == CPU_READY)
        send_part(lp, event, PART_CPU, MSG_CPU_RUN, lp->now + cost);
}

static void advance(struct lp *lp, const struct event *event, struct pe *pe)
{
    if (pe->cpu.draft == NO_SLOT && !take(lp, pe))
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
    uint16_t index = (uint16_t)event->arg[0];
    uint32_t number = unit_pe(event->dst);
    retire(lp, pe, number, index, lp->now);
    if (cpu->state == CPU_BLOCKED && cpu->blocked_on == index) {
        advance(lp, event, pe);
    } else if (cpu->state == CPU_STALLED) {
        cpu->cause = (struct cause){pe->slots[index].number, lp->id, (uint16_t)number, cpu->stall};
        advance(lp, event, pe);
    }
}
