#include "hw/outlook.h"

#include <string.h>

#include "hw/machine.h"

/* Steps of a GEMM's plan. */
static uint64_t steps_of(const struct hw_params *params, const struct command *command)
{
    return pieces_of(command->a.rows, params->sched.tile_m) *
           pieces_of(command->b.rows, params->sched.tile_k) *
           pieces_of(command->b.cols, params->sched.tile_n);
}

uint64_t command_fragments(const struct hw_params *params, const struct command *command)
{
    const struct operand *moved = command->op == OP_SEND ? &command->a : &command->out;
    return pieces_of(operand_bytes(moved), params->ipcq.slot_bytes);
}

struct cost cost_of(const struct hw_params *params)
{
    uint32_t pes = grid_size(params->geometry.pes);
    uint64_t macs = params->sched.tile_m * params->sched.tile_k * params->sched.tile_n;
    uint64_t step_cycles = pieces_of(macs, params->gemm.macs_per_cycle);
    uint64_t fill_ps = rate_duration(params->gemm.clock, params->gemm.fill_cycles);
    uint64_t step_ps = server_least(params->gemm.clock, step_cycles);
    struct rate share = rate_divide(params->hbm.rate, pes);
    return (struct cost){
        .params = params,
        .step_cycles = step_cycles,
        .fill_ps = fill_ps,
        .rate = {share, share, params->gemm.clock},
        .spread_bytes = params->hbm.pseudo_channels / pes * params->hbm.interleave_bytes,
        .tail_ps = {params->hbm.latency_ps + fill_ps + step_ps, params->hbm.latency_ps, fill_ps},
    };
}

uint64_t command_serial_ps(const struct cost *cost, const struct command *command)
{
    const struct hw_params *params = cost->params;
    uint64_t issue = params->cpu.issue_ps[command->op];
    if (command->op == OP_MATH)
        return time_add(issue + params->math.startup_ps,
                        server_least(params->math.clock, math_cycles(params, command)));
    if (command->op == OP_RECV)
        return issue + server_least(params->scratch.rate, operand_bytes(&command->out));
    return issue;
}

/* The CPU's serial work grows by `ps`, and with it what follows the last use of each stream. */
static void add_serial(struct outlook *outlook, uint64_t ps)
{
    outlook->serial_ps = time_add(outlook->serial_ps, ps);
    outlook->after.ps = time_add(outlook->after.ps, ps);
    for (int s = 0; s < STREAMS; s++)
        outlook->after_ps[s] = time_add(outlook->after_ps[s], ps);
}

/* The CPU has used a result: everything from here on comes after its bytes. Two bounds hold, the
 * old one and the new one; the larger is kept. */
static void use_result(struct outlook *outlook, struct outlook_result *result)
{
    uint8_t s = result->stream;
    uint64_t rest = 0;
    result->live = false;
    if (result->work < outlook->used[s])
        return;
    uint64_t tail = outlook->cost->tail_ps[s];
    uint64_t newer = server_split(result->work - outlook->used[s], outlook->cost->rate[s], &rest);
    if (newer + tail < outlook->after_ps[s])
        return;
    outlook->used[s] = result->work;
    outlook->after_ps[s] = tail;
}

static void use_operand(struct outlook *outlook, const struct operand *operand)
{
    if (operand->space != SPACE_SCRATCH)
        return;
    uint64_t first = operand->addr, end = first + operand_bytes(operand);
    for (int i = 0; i < OUTLOOK_RESULTS; i++) {
        struct outlook_result *result = &outlook->results[i];
        if (result->live && result->first < end && first < result->end)
            use_result(outlook, result);
    }
}

/* `work` more was asked for by a command whose result is `out`. */
static void note_result(struct outlook *outlook, const struct operand *out, enum stream stream,
                        uint64_t work)
{
    outlook->asked[stream] = time_add(outlook->asked[stream], work);
    /* It comes after all that its stream asked for before only if it queues up at every
     * pseudo-channel. */
    if (stream != STREAM_GEMM && work < outlook->cost->spread_bytes)
        return;
    struct outlook_result *result = &outlook->results[outlook->next_result];
    outlook->next_result = (outlook->next_result + 1) % OUTLOOK_RESULTS;
    *result = (struct outlook_result){out->addr, out->addr + operand_bytes(out),
                                      outlook->asked[stream], (uint8_t)stream, true};
}

static void note_gemm(struct outlook *outlook, const struct command *command)
{
    const struct operand *b = &command->b;
    if (b->space != SPACE_HBM)
        note_result(
            outlook, &command->out, STREAM_GEMM,
            time_multiply(steps_of(outlook->cost->params, command), outlook->cost->step_cycles));
    else if (b->pe == outlook->pe)
        note_result(outlook, &command->out, STREAM_FETCH, operand_bytes(b));
}

static void note_work(struct outlook *outlook, const struct command *command)
{
    if (command->op == OP_COMPOSITE || command->op == OP_DOT)
        note_gemm(outlook, command);
    else if (command->op == OP_LOAD && command->a.pe == outlook->pe)
        note_result(outlook, &command->out, STREAM_LOAD, operand_bytes(&command->a));
    else if (command->op == OP_STORE && command->out.pe == outlook->pe)
        outlook->asked[STREAM_LOAD] += operand_bytes(&command->out);
}

bool outlook_records(const struct command *command)
{
    return command->op == OP_SEND || command_emits(command);
}

uint64_t inside_passage(const struct hw_params *params, uint64_t bytes)
{
    uint64_t last = bytes % params->ipcq.slot_bytes;
    if (last == 0 && bytes > 0)
        last = params->ipcq.slot_bytes;
    return params->ipcq.copy_ps[LEVEL_PE] + server_least(params->scratch.rate, bytes) +
           server_least(params->link[LEVEL_PE].rate, last) + params->link[LEVEL_PE].latency_ps +
           server_least(params->scratch.rate, last);
}

/* A receive from a PE of this CUBE: when it blocks, what follows waits for that PE. */
static void note_receive(struct outlook *outlook, const struct command *command)
{
    uint64_t index = outlook->receives[command->queue]++;
    if (command->op != OP_RECV || queue_level((enum queue_id)command->queue) != LEVEL_PE)
        return;
    uint64_t bytes = operand_bytes(&command->out);
    outlook->after = (struct dependency){true, command->queue, index,
                                         inside_passage(outlook->cost->params, bytes)};
}

/* A copy takes its cost and its bytes' way out of scratch; a credit follows its fragment's drain.
 */
static void note_leaving(const struct hw_params *params, const struct command *command,
                         struct emission *record)
{
    const struct operand *moved = record->send ? &command->a : &command->out;
    uint64_t fragment = time_min(operand_bytes(moved), params->ipcq.slot_bytes);
    record->bytes = operand_bytes(moved);
    record->leave_ps = rate_duration(params->scratch.rate, fragment);
    record->link_bytes = record->send ? fragment : params->ipcq.credit_bytes;
    if (record->send)
        record->leave_ps += params->ipcq.copy_ps[queue_level((enum queue_id)command->queue)];
}

/* Counts the fragments of a message command, behind its record. */
static void note_fragments(struct outlook *outlook, const struct command *command)
{
    uint64_t fragments = command_fragments(outlook->cost->params, command);
    if (command->op == OP_SEND)
        outlook->out[command->queue] += fragments;
    else
        outlook->in[command->queue] += fragments;
}

static void add_record(struct outlook *outlook, const struct command *command)
{
    const struct hw_params *params = outlook->cost->params;
    uint64_t issue = params->cpu.issue_ps[command->op];
    struct emission *record =
        &outlook->records[(outlook->first + outlook->count++) % OUTLOOK_RECORDS];
    *record = (struct emission){.serial_ps = outlook->serial_ps + issue,
                                .after = outlook->after,
                                .queue = command->queue,
                                .send = command->op == OP_SEND,
                                .leaves = command_emits(command),
                                .blocks = command->op == OP_RECV};
    note_leaving(params, command, record);
    uint64_t *fragments = record->send ? outlook->out : outlook->in;
    record->fragment = fragments[command->queue] + 1;
    record->after.ps += issue;
    for (int s = 0; s < STREAMS; s++) {
        record->work[s] = outlook->used[s];
        record->after_ps[s] = outlook->after_ps[s] + issue;
    }
}

static bool fold(struct scout_sink *sink, const struct command *command)
{
    struct outlook *outlook = (struct outlook *)sink;
    bool moves = op_engine((enum op)command->op) == ENGINE_IPCQ;
    if (command->op == OP_FAIL || command->op == OP_END)
        return false;
    use_operand(outlook, &command->a);
    use_operand(outlook, &command->b);
    use_operand(outlook, &command->c);
    use_operand(outlook, &command->out);
    for (int i = 0; i < 3; i++)
        use_operand(outlook, &command->state[i]);
    if (outlook_records(command))
        add_record(outlook, command);
    else
        note_work(outlook, command);
    add_serial(outlook, command_serial_ps(outlook->cost, command));
    if (command->op == OP_DOT) /* it blocks: what follows comes after its result */
        use_operand(outlook, &command->out);
    if (moves) {
        note_fragments(outlook, command);
        if (command->op != OP_SEND)
            note_receive(outlook, command);
    }
    return outlook_records(command) && outlook->count == OUTLOOK_RECORDS;
}

void outlook_init(struct outlook *outlook, const struct cost *cost, uint32_t pe)
{
    memset(outlook, 0, sizeof *outlook);
    outlook->sink.fold = fold;
    outlook->cost = cost;
    outlook->pe = pe;
}

const struct emission *outlook_at(struct outlook *outlook, struct program *program, uint32_t ahead)
{
    while (outlook->count <= ahead && !outlook->ended && !program_stopped(program))
        outlook->ended = !program->ops->scout(program, &outlook->sink);
    return outlook->count <= ahead ? NULL
                                   : &outlook->records[(outlook->first + ahead) % OUTLOOK_RECORDS];
}

/* Whether this is the command that the record was made of. */
static bool foreseen(const struct emission *record, const struct command *command,
                     uint64_t serial_ps)
{
    bool send = command->op == OP_SEND;
    return record->queue == command->queue && record->send == send &&
           record->bytes == operand_bytes(send ? &command->a : &command->out) &&
           record->serial_ps == serial_ps;
}

bool outlook_pop(struct outlook *outlook, struct program *program, const struct command *command,
                 uint64_t serial_ps)
{
    const struct emission *record = outlook_at(outlook, program, 0);
    if (record == NULL)
        return program_stopped(program);
    if (!foreseen(record, command, serial_ps))
        return false;
    outlook->first = (outlook->first + 1) % OUTLOOK_RECORDS;
    outlook->count--;
    return true;
}
