#include "machine/lookahead/outlook.h"

#include <string.h>

#include "machine/server.h"

struct cost cost_of(const struct machine_params *params)
{
    uint64_t step_cycles = gemm_step_cycles(params), fill_ps = gemm_fill_ps(params);
    uint64_t step_ps = server_least(params->gemm.clock, step_cycles);
    uint64_t latency_ps = hbm_tail_ps(params);
    struct rate share = hbm_share_rate(params);
    return (struct cost){
        .params = params,
        .rate = {share, share, params->gemm.clock},
        .step_cycles = step_cycles,
        .spread_bytes = hbm_spread_bytes(params),
        .tail_ps = {latency_ps + fill_ps + step_ps, latency_ps, fill_ps},
    };
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

/* Bytes of an HBM operand that lie in the PE's own share: in one run, behind each other for the
 * commands of a stream. */
static uint64_t own_bytes(const struct outlook *outlook, const struct operand *operand)
{
    uint64_t bytes = operand_bytes(operand);
    if (operand->pe == OPERAND_STACK)
        return stripe_bytes(machine_stripe(outlook->cost->params), operand->addr, bytes,
                            outlook->pe);
    return operand->pe == outlook->pe ? bytes : 0;
}

static void note_gemm(struct outlook *outlook, const struct command *command)
{
    const struct operand *b = &command->b;
    if (b->space != SPACE_HBM)
        note_result(outlook, &command->out, STREAM_GEMM,
                    time_multiply(scheduler_steps(outlook->cost->params, command),
                                  outlook->cost->step_cycles));
    else
        note_result(outlook, &command->out, STREAM_FETCH, own_bytes(outlook, b));
}

static void note_work(struct outlook *outlook, const struct command *command)
{
    if (command->op == OP_COMPOSITE || command->op == OP_DOT)
        note_gemm(outlook, command);
    else if (command->op == OP_LOAD)
        note_result(outlook, &command->out, STREAM_LOAD, own_bytes(outlook, &command->a));
    else if (command->op == OP_STORE)
        outlook->asked[STREAM_LOAD] += own_bytes(outlook, &command->out);
}

bool outlook_emits(const struct command *command)
{
    return command->op == OP_SEND || command_emits(command);
}

/* A receive from a PE of this CUBE: when it blocks, what follows waits for that PE. */
static void note_receive(struct outlook *outlook, const struct command *command)
{
    uint64_t index = outlook->receives[command->queue]++;
    if (command->op != OP_RECV || queue_level((enum queue_id)command->queue) != LEVEL_PE)
        return;
    uint64_t bytes = operand_bytes(&command->out);
    outlook->after = (struct dependency){true, command->queue, index,
                                         ipcq_passage_least(outlook->cost->params, bytes)};
}

/* A copy takes its cost and its bytes' way out of scratch; a credit follows its fragment's drain.
 */
static void note_leaving(const struct machine_params *params, const struct command *command,
                         struct emission *emission)
{
    enum queue_level level = queue_level((enum queue_id)command->queue);
    uint64_t fragment = ipcq_first_fragment(params, command);
    emission->bytes = operand_bytes(emission->send ? &command->a : &command->out);
    emission->leave_ps = emission->send ? ipcq_copy_ps(params, level, true, fragment)
                                        : scratch_move_ps(params, fragment);
    emission->link_bytes = emission->send ? fragment : params->ipcq.credit_bytes;
}

/* Counts the fragments of a message command, behind its emission. */
static void note_fragments(struct outlook *outlook, const struct command *command)
{
    uint64_t fragments = ipcq_fragments(outlook->cost->params, command);
    if (command->op == OP_SEND)
        outlook->out[command->queue] += fragments;
    else
        outlook->in[command->queue] += fragments;
}

static void add_emission(struct outlook *outlook, const struct command *command)
{
    const struct machine_params *params = outlook->cost->params;
    uint64_t issue = params->cpu.issue_ps[command->op];
    struct emission *emission =
        &outlook->emissions[(outlook->first + outlook->count++) % OUTLOOK_EMISSIONS];
    *emission = (struct emission){.serial_ps = outlook->serial_ps + issue,
                                  .after = outlook->after,
                                  .queue = command->queue,
                                  .send = command->op == OP_SEND,
                                  .leaves = command_emits(command),
                                  .blocks = command->op == OP_RECV};
    note_leaving(params, command, emission);
    uint64_t *fragments = emission->send ? outlook->out : outlook->in;
    emission->fragment = fragments[command->queue] + 1;
    emission->after.ps += issue;
    for (int s = 0; s < STREAMS; s++) {
        emission->work[s] = outlook->used[s];
        emission->after_ps[s] = outlook->after_ps[s] + issue;
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
    if (outlook_emits(command))
        add_emission(outlook, command);
    else
        note_work(outlook, command);
    add_serial(outlook, cpu_serial_ps(outlook->cost->params, command));
    if (command->op == OP_DOT) /* it blocks: what follows comes after its result */
        use_operand(outlook, &command->out);
    if (moves) {
        note_fragments(outlook, command);
        if (command->op != OP_SEND)
            note_receive(outlook, command);
    }
    return outlook_emits(command) && outlook->count == OUTLOOK_EMISSIONS;
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
    return outlook->count <= ahead
               ? NULL
               : &outlook->emissions[(outlook->first + ahead) % OUTLOOK_EMISSIONS];
}

/* Whether this is the command that the emission was made of. */
static bool foreseen(const struct emission *emission, const struct command *command,
                     uint64_t serial_ps)
{
    bool send = command->op == OP_SEND;
    return emission->queue == command->queue && emission->send == send &&
           emission->bytes == operand_bytes(send ? &command->a : &command->out) &&
           emission->serial_ps == serial_ps;
}

bool outlook_pop(struct outlook *outlook, struct program *program, const struct command *command,
                 uint64_t serial_ps)
{
    const struct emission *emission = outlook_at(outlook, program, 0);
    if (emission == NULL)
        return program_stopped(program);
    if (!foreseen(emission, command, serial_ps))
        return false;
    outlook->first = (outlook->first + 1) % OUTLOOK_EMISSIONS;
    outlook->count--;
    return true;
}
