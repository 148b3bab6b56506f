#include "hw/outlook.h"

#include <string.h>

#include "hw/machine.h"

/* A server's carried fraction can shorten one service by a picosecond. */
static uint64_t least_duration(struct rate rate, uint64_t items)
{
    uint64_t duration = rate_duration(rate, items);
    return duration > 0 ? duration - 1 : 0;
}

uint64_t command_serial_ps(const struct cost *cost, const struct command *command)
{
    const struct hw_params *params = cost->params;
    uint64_t issue = params->cpu.issue_ps[command->op];
    if (command->op == OP_MATH)
        return issue + params->math.startup_ps +
               least_duration(params->math.clock, math_cycles(params, command));
    if (command->op == OP_RECV)
        return issue + least_duration(params->scratch.rate, operand_bytes(&command->out));
    return issue;
}

/* The CPU's serial work grows by `ps`, and with it what follows the last use of each stream. */
static void add_serial(struct outlook *outlook, uint64_t ps)
{
    outlook->serial_ps += ps;
    outlook->after.ps += ps;
    for (int s = 0; s < STREAMS; s++)
        outlook->after_ps[s] += ps;
}

/* The CPU has used a result: everything from here on comes after its bytes. Two bounds hold, the
 * old one and the new one; the larger is kept. */
static void use_result(struct outlook *outlook, struct outlook_result *result)
{
    uint8_t s = result->stream;
    uint64_t rest = 0;
    result->live = false;
    if (result->bytes < outlook->used[s])
        return;
    uint64_t newer =
        server_split(result->bytes - outlook->used[s], outlook->cost->share_rate, &rest);
    if (newer + result->tail_ps < outlook->after_ps[s])
        return;
    outlook->used[s] = result->bytes;
    outlook->after_ps[s] = result->tail_ps;
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

/* `bytes` more were asked for by a command whose result is `out`. It comes after all that its
 * stream asked for before only if it queues up at every pseudo-channel. */
static void note_result(struct outlook *outlook, const struct operand *out, enum stream stream,
                        uint64_t bytes, uint64_t tail_ps)
{
    outlook->moved[stream] += bytes;
    if (bytes < outlook->cost->spread_bytes)
        return;
    struct outlook_result *result = &outlook->results[outlook->next_result];
    outlook->next_result = (outlook->next_result + 1) % OUTLOOK_RESULTS;
    *result = (struct outlook_result){
        out->addr, out->addr + operand_bytes(out), outlook->moved[stream], tail_ps, (uint8_t)stream,
        true};
}

static void note_transfer(struct outlook *outlook, const struct command *command)
{
    const struct hw_params *params = outlook->cost->params;
    if (command->op == OP_COMPOSITE && command->b.space == SPACE_HBM &&
        command->b.pe == outlook->pe) {
        note_result(outlook, &command->out, STREAM_FETCH, operand_bytes(&command->b),
                    outlook->cost->fetch_tail_ps);
    } else if (command->op == OP_LOAD && command->a.pe == outlook->pe) {
        note_result(outlook, &command->out, STREAM_LOAD, operand_bytes(&command->a),
                    params->hbm.latency_ps);
    } else if (command->op == OP_STORE && command->out.pe == outlook->pe) {
        outlook->moved[STREAM_LOAD] += operand_bytes(&command->out);
    }
}

bool outlook_records(const struct command *command)
{
    return command->op == OP_SEND || command_emits(command);
}

/* Least time from the end of the issue of a record's command to an arrival at another CUBE. */
static uint64_t flight(const struct hw_params *params, const struct command *command)
{
    enum queue_level level = queue_level((enum queue_id)command->queue);
    bool send = command->op == OP_SEND;
    uint64_t copy = send ? params->ipcq.copy_ps[level] : 0;
    if (level == LEVEL_PE)
        return copy;
    /* The way to another SIP begins with a CUBE link, unless this is the IO die's CUBE. */
    uint64_t hop = params->link[LEVEL_CUBE].latency_ps;
    return copy + (level == LEVEL_CUBE ? hop : time_min(hop, params->link[LEVEL_SIP].latency_ps));
}

/* Least time from the end of a send's issue to the end of the receive in a PE of the same CUBE: the
 * copies of all fragments, the last one's way and its drain. */
static uint64_t passage(const struct hw_params *params, uint64_t bytes)
{
    uint64_t last = bytes % params->ipcq.slot_bytes;
    if (last == 0 && bytes > 0)
        last = params->ipcq.slot_bytes;
    return params->ipcq.copy_ps[LEVEL_PE] + least_duration(params->scratch.rate, bytes) +
           least_duration(params->link[LEVEL_PE].rate, last) + params->link[LEVEL_PE].latency_ps +
           least_duration(params->scratch.rate, last);
}

/* A receive from a PE of this CUBE: when it blocks, what follows waits for that PE. */
static void note_receive(struct outlook *outlook, const struct command *command)
{
    uint64_t slot = outlook->cost->params->ipcq.slot_bytes;
    uint64_t index = outlook->receives[command->queue]++;
    outlook->fragments[command->queue] += (operand_bytes(&command->out) + slot - 1) / slot;
    if (command->op != OP_RECV || queue_level((enum queue_id)command->queue) != LEVEL_PE)
        return;
    uint64_t bytes = operand_bytes(&command->out);
    outlook->after =
        (struct dependency){true, command->queue, index, passage(outlook->cost->params, bytes)};
}

static void add_record(struct outlook *outlook, const struct command *command)
{
    const struct hw_params *params = outlook->cost->params;
    uint64_t issue = params->cpu.issue_ps[command->op];
    struct emission *record =
        &outlook->records[(outlook->first + outlook->count++) % OUTLOOK_RECORDS];
    *record = (struct emission){.serial_ps = outlook->serial_ps + issue,
                                .after = outlook->after,
                                .flight_ps = flight(params, command),
                                .queue = command->queue,
                                .leaves = command_emits(command),
                                .blocks = command->op == OP_RECV};
    if (command->op != OP_SEND)
        record->fragments = outlook->fragments[command->queue] + 1;
    record->after.ps += issue;
    for (int s = 0; s < STREAMS; s++) {
        record->bytes[s] = outlook->used[s];
        record->after_ps[s] = outlook->after_ps[s] + issue;
    }
}

static bool fold(struct scout_sink *sink, const struct command *command)
{
    struct outlook *outlook = (struct outlook *)sink;
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
        note_transfer(outlook, command);
    add_serial(outlook, command_serial_ps(outlook->cost, command));
    if (command->op == OP_RECV || command->op == OP_RECV_ASYNC)
        note_receive(outlook, command);
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

void outlook_pop(struct outlook *outlook, struct program *program)
{
    if (outlook_at(outlook, program, 0) == NULL && program_stopped(program))
        return;
    if (outlook->count == 0)
        error_bug(
            "kernel %s emits what its scout did not foresee: a kernel must be a pure function "
            "of its launch",
            program->kernel);
    outlook->first = (outlook->first + 1) % OUTLOOK_RECORDS;
    outlook->count--;
}
