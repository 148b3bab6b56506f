/* Random programs on the engine: over communicators of 1, 2, 3, 5, 8 and 16 ranks of one launch,
 * every transport (the one over several nodes with nodes of several shapes) and both queues, the
 * digest, the counts, the errors and the rounds equal those in one process.
 *
 * A program is a random graph of LPs and a model whose sends are drawn from counters of the units
 * and from what the events carry, so that any change of order or content spreads.
 *
 * What takes the time is meeting, not events: rounds times ranks. So by default programs of many
 * rounds are passed over, and each runs in one of the two ways to split the ranks, the two in turn.
 * With AHBM_LONG_TESTS in the environment nothing is left out, and there are more of them. */
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pdes/core/engine.h"
#include "pdes/transport/hybrid.h"
#include "pdes/transport/messages.h"
#include "pdes/transport/shared.h"
#include "support/hash.h"
#include "support/memory.h"

enum { LPS_MAX = 24, BITS_MAX = 3, PHASES = 3, GROUPS = 5 };
enum { STEP, BURST, KINDS };

struct program {
    uint64_t seed;
    uint32_t lps;
    uint32_t bits;
    uint32_t ttl;
    uint64_t spread; /* of delays between LPs, beyond the lookahead */
    uint64_t lookahead[LPS_MAX];
    uint32_t units[LPS_MAX];
    uint32_t neighbours[LPS_MAX]; /* a mask, symmetric */
    uint32_t fail_mask;           /* LPs that fail, each at some event of its own */
    uint64_t stop_event;          /* of LP 0; 0: never */
    bool memoryless;              /* told to the engine: one synchronisation per round */
};

struct lp_state {
    const struct program *program;
    uint64_t counter[1 << BITS_MAX];
};

struct outcome {
    uint64_t digest;
    uint64_t events;
    uint64_t rounds;
    uint64_t messages;
    enum engine_result result;
    struct error error;
};

static volatile sig_atomic_t stop;

static uint64_t mix(uint64_t a, uint64_t b)
{
    return hash_finish(hash_word(hash_word(HASH_START, a), b));
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = mix(*state, UINT64_C(0x51ed2701));
    return (*state >> 16) % below;
}

/* The `n`-th set bit of `mask`, which has more than n. */
static uint32_t nth_bit(uint32_t mask, uint64_t n)
{
    while (n-- > 0)
        mask &= mask - 1;
    return (uint32_t)__builtin_ctz(mask);
}

static uint32_t remote_lp(struct lp *lp, uint64_t *random)
{
    const struct program *program = ((struct lp_state *)lp->state)->program;
    uint32_t mask = program->neighbours[lp->id];
    return nth_bit(mask, draw(random, (uint64_t)__builtin_popcount(mask)));
}

static uint32_t any_unit(const struct program *program, uint32_t lp, uint64_t *random)
{
    return lp << program->bits | (uint32_t)draw(random, program->units[lp]);
}

/* Now and then an event carries bytes, also more than a box of the shared memory holds. */
static void attach(struct lp *lp, struct event *event, uint64_t *random)
{
    static const uint64_t sizes[] = {8, 100, 5000, 40000};
    if (draw(random, 6) != 0)
        return;
    uint32_t bytes = 1 + (uint32_t)draw(random, sizes[draw(random, 4)]);
    uint8_t *data = lp_attach(lp, event, bytes);
    for (uint32_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(*random + i * 7);
}

/* What the bytes of an event are, as a number that goes into all that follows. */
static uint64_t read_payload(struct lp *lp, const struct event *event)
{
    uint32_t bytes = 0;
    const uint8_t *data = lp_payload(lp, event->payload, &bytes);
    uint64_t hash = HASH_START;
    for (uint32_t i = 0; i < bytes; i++)
        hash = hash_word(hash, data[i]);
    lp_drop(lp, event->payload);
    return bytes ? hash : 0;
}

static void send_one(struct lp *lp, const struct event *event, uint64_t *random)
{
    const struct program *program = ((struct lp_state *)lp->state)->program;
    uint32_t to = lp->id;
    uint64_t delay;
    if (program->neighbours[lp->id] == 0 || draw(random, 2) == 0) {
        delay = draw(random, 5);
    } else {
        to = remote_lp(lp, random);
        delay = program->lookahead[lp->id] + draw(random, program->spread);
    }
    uint32_t dst = any_unit(program, to, random);
    struct event *next = lp_send(lp, event->dst, dst, STEP, event->time + delay);
    next->arg[0] = event->arg[0] - 1;
    next->arg[EVENT_ARGS - 1] = *random;
    attach(lp, next, random);
}

/* More events to one neighbour than a message's first buffer holds. */
static void send_burst(struct lp *lp, const struct event *event, uint64_t *random)
{
    const struct program *program = ((struct lp_state *)lp->state)->program;
    if (program->neighbours[lp->id] == 0)
        return;
    uint32_t to = remote_lp(lp, random);
    uint32_t count = 40 + (uint32_t)draw(random, 100);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t time = event->time + program->lookahead[lp->id] + draw(random, 3);
        uint32_t dst = any_unit(program, to, random);
        lp_send(lp, event->dst, dst, BURST, time)->arg[EVENT_ARGS - 1] = *random;
    }
}

static void fail_or_stop(struct lp *lp, const struct event *event)
{
    const struct program *program = ((struct lp_state *)lp->state)->program;
    if ((program->fail_mask >> lp->id & 1) &&
        mix(program->seed, event->arg[EVENT_ARGS - 1]) % 8 == 0)
        error_set(&lp->error, ERROR_USAGE, "LP %u: unit %u fails at %llu ps", lp->id, event->dst,
                  (unsigned long long)event->time);
    if (lp->id == 0 && program->stop_event != 0 &&
        ((struct lp_state *)lp->state)->counter[0] == program->stop_event)
        stop = 1;
}

static void handle(struct lp *lp, const struct event *event)
{
    struct lp_state *state = lp->state;
    const struct program *program = state->program;
    uint32_t unit = event->dst & ((1u << program->bits) - 1);
    uint64_t random = mix(program->seed ^ event->dst, state->counter[unit]++);
    random = mix(random, event->arg[EVENT_ARGS - 1] + read_payload(lp, event));
    fail_or_stop(lp, event);
    if (event->arg[0] == 0)
        return;
    static const unsigned children[8] = {0, 0, 1, 1, 1, 1, 2, 2};
    unsigned count = children[draw(&random, 8)];
    for (unsigned i = 0; i < count; i++)
        send_one(lp, event, &random);
    if (draw(&random, 48) == 0)
        send_burst(lp, event, &random);
}

static uint64_t promise(struct lp *lp, uint64_t next_event)
{
    const struct program *program = ((struct lp_state *)lp->state)->program;
    if (program->neighbours[lp->id] == 0)
        return TIME_NEVER;
    return time_add_saturated(next_event, program->lookahead[lp->id]);
}

static uint64_t reaction(const struct lp *lp, uint32_t to)
{
    return ((const struct lp_state *)lp->state)->program->lookahead[to];
}

static lp_handler *const handlers[KINDS] = {handle, handle};
static const char *const names[KINDS] = {"step", "burst"};
static const struct lp_model models[2] = {
    {.handlers = handlers,
     .names = names,
     .kinds = KINDS,
     .promise = promise,
     .reaction = reaction},
    {.handlers = handlers,
     .names = names,
     .kinds = KINDS,
     .promise = promise,
     .reaction = reaction,
     .memoryless = true},
};

static void make_graph(struct program *program, uint64_t *random)
{
    uint64_t density = 1 + draw(random, 8); /* eighths of the pairs, and now and then none */
    if (draw(random, 16) == 0)
        density = 0;
    for (uint32_t a = 0; a < program->lps; a++)
        for (uint32_t b = 0; b < a; b++)
            if (draw(random, 8) < density) {
                program->neighbours[a] |= 1u << b;
                program->neighbours[b] |= 1u << a;
            }
}

static void make_program(struct program *program, uint64_t seed, uint64_t number)
{
    static const uint64_t lookaheads[] = {1, 1, 2, 17, 1000, 1000000};
    static const uint64_t spreads[] = {1, 2, 50, 1000, 100000};
    uint64_t random = mix(seed, number);
    *program = (struct program){.seed = random};
    program->lps = 1 + (uint32_t)draw(&random, LPS_MAX);
    program->bits = (uint32_t)draw(&random, BITS_MAX + 1);
    program->ttl = 1 + (uint32_t)draw(&random, 24);
    program->spread = spreads[draw(&random, sizeof spreads / sizeof *spreads)];
    uint64_t choices = 1 + draw(&random, sizeof lookaheads / sizeof *lookaheads);
    for (uint32_t lp = 0; lp < program->lps; lp++) {
        program->lookahead[lp] = lookaheads[draw(&random, choices)];
        program->units[lp] = 1 + (uint32_t)draw(&random, UINT64_C(1) << program->bits);
    }
    make_graph(program, &random);
    if (number % 5 == 3)
        program->fail_mask = (uint32_t)draw(&random, UINT64_C(1) << program->lps);
    program->memoryless = draw(&random, 2) == 0;
    if (number % 10 == 9)
        program->stop_event = 1 + draw(&random, 8);
}

/* First events: some LPs have none and stay idle unless another wakes them. */
static void start(struct lp *lp)
{
    const struct program *program = ((struct lp_state *)lp->state)->program;
    uint64_t random = mix(program->seed + 1, lp->id);
    for (uint64_t events = draw(&random, 4); events > 0; events--) {
        uint32_t src = any_unit(program, lp->id, &random);
        uint32_t to =
            program->neighbours[lp->id] && draw(&random, 2) ? remote_lp(lp, &random) : lp->id;
        uint32_t dst = any_unit(program, to, &random);
        struct event *event = lp_send(lp, src, dst, STEP, draw(&random, 1000));
        event->arg[0] = program->ttl;
        event->arg[EVENT_ARGS - 1] = random;
    }
}

static struct engine *build(const struct program *program, struct transport *transport,
                            enum queue_kind queue, struct lp_state *states)
{
    struct engine_config config = {.lps = program->lps,
                                   .unit_bits = program->bits,
                                   .model = &models[program->memoryless],
                                   .transport = transport,
                                   .stop = &stop,
                                   .queue = queue,
                                   .crowded = true};
    struct engine *engine = engine_new(&config);
    for (uint32_t a = 0; a < program->lps; a++)
        for (uint32_t b = 0; b < a; b++)
            if (program->neighbours[a] >> b & 1)
                engine_connect(engine, a, b);
    for (uint32_t i = 0; i < program->lps; i++) {
        struct lp *lp = engine_lp(engine, i);
        if (lp == NULL)
            continue;
        states[i] = (struct lp_state){.program = program};
        lp->state = &states[i];
        lp_set_units(lp, program->units[i]);
        start(lp);
    }
    return engine;
}

/* Collective over `comm`, whose ranks are those of `transport`. */
static void run_program(const struct program *program, struct transport *transport,
                        enum queue_kind queue, MPI_Comm comm, struct outcome *outcome)
{
    struct lp_state states[LPS_MAX];
    struct engine *engine = build(program, transport, queue, states);
    memset(outcome, 0, sizeof *outcome);
    stop = 0;
    outcome->result = engine_run(engine, &outcome->error);
    uint64_t parts[LPS_MAX + 2] = {0};
    struct engine_stats stats;
    engine_get_stats(engine, &stats);
    for (uint32_t i = 0; i < program->lps; i++)
        if (engine_lp(engine, i))
            parts[i] = engine_lp(engine, i)->digest;
    parts[LPS_MAX] = stats.events;
    parts[LPS_MAX + 1] = stats.messages;
    MPI_Allreduce(MPI_IN_PLACE, parts, LPS_MAX + 2, MPI_UINT64_T, MPI_SUM, comm);
    outcome->digest = HASH_START;
    for (uint32_t i = 0; i < program->lps; i++)
        outcome->digest = hash_word(outcome->digest, parts[i]);
    outcome->events = parts[LPS_MAX];
    outcome->messages = parts[LPS_MAX + 1];
    outcome->rounds = stats.rounds;
    engine_free(engine);
}

/* Where a stop falls inside a window depends on the partition; that all stop does not. */
static bool agrees(const struct outcome *expected, const struct outcome *got)
{
    if (expected->result != got->result)
        return false;
    if (expected->result == ENGINE_STOPPED)
        return true;
    return expected->digest == got->digest && expected->events == got->events &&
           expected->rounds == got->rounds && expected->error.code == got->error.code &&
           strcmp(expected->error.text, got->error.text) == 0;
}

static void complain(uint64_t number, const struct transport *transport,
                     const struct outcome *expected, const struct outcome *got)
{
    fprintf(stderr,
            "program %llu, transport %s, rank %u of %u: result %d digest %016llx events "
            "%llu rounds %llu \"%s\", "
            "in one process: %d %016llx %llu %llu \"%s\"\n",
            (unsigned long long)number, transport->ops->name, transport->rank, transport->size,
            (int)got->result, (unsigned long long)got->digest, (unsigned long long)got->events,
            (unsigned long long)got->rounds, got->error.text, (int)expected->result,
            (unsigned long long)expected->digest, (unsigned long long)expected->events,
            (unsigned long long)expected->rounds, expected->error.text);
}

/* Each phase splits the ranks into groups of these sizes; those left over form one more. The first
 * two take turns. */
static const int group_sizes[PHASES][GROUPS] = {{1, 2, 5, 8}, {3, 5, 8}, {16}};

static int group_of(int phase, int rank)
{
    int group = 0;
    while (group < GROUPS && group_sizes[phase][group] != 0 && rank >= group_sizes[phase][group])
        rank -= group_sizes[phase][group++];
    return group;
}

struct options {
    uint64_t programs;
    uint64_t first;
    uint64_t seed;
    uint64_t rounds; /* programs of more are passed over */
    bool everywhere; /* each program in every phase */
};

struct totals {
    uint64_t results[3];
    uint64_t events;
    uint64_t rounds;
    uint64_t passed;   /* programs passed over */
    uint64_t messages; /* of the whole launch as one group */
    uint64_t failures; /* of this rank */
};

/* What passes for a node among the ranks of a communicator: two halves; sizes of 1, 2, 3, 1, 5 and
 * what is left; every third rank. */
enum shape { HALVES, UNEQUAL, DEALT, SHAPES };

static int node_of(enum shape shape, int rank, int size)
{
    static const int first[] = {1, 3, 6, 7, 12}; /* ranks of the unequal nodes but the first */
    int node = 0;
    if (shape == HALVES)
        return 2 * rank >= size;
    if (shape == DEALT)
        return rank % 3;
    while (node < 5 && rank >= first[node])
        node++;
    return node;
}

/* For all programs; of the last, one takes part in each. */
struct phase {
    MPI_Comm comm;
    struct transport *mpi, *shared, *hybrid[SHAPES];
};

/* Collective over the phase's ranks: every transport with both queues. */
static void run_phase(const struct program *program, uint64_t number, const struct phase *phase,
                      const struct outcome *expected, struct totals *totals)
{
    struct transport *const transports[] = {phase->mpi, phase->shared,
                                            phase->hybrid[number % SHAPES]};
    struct outcome got;
    for (size_t t = 0; t < sizeof transports / sizeof *transports; t++)
        for (int queue = QUEUE_HEAP; queue <= QUEUE_LADDER; queue++) {
            run_program(program, transports[t], (enum queue_kind)queue, phase->comm, &got);
            totals->messages += transports[t]->size == 16 ? got.messages : 0;
            if (!agrees(expected, &got) && totals->failures++ < 5)
                complain(number, transports[t], expected, &got);
        }
}

static void run_all(const struct options *options, struct phase *phases, struct totals *totals)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct transport *local = transport_local_new();
    uint64_t last = options->first + options->programs;
    for (uint64_t number = options->first; number < last; number++) {
        struct program program;
        struct outcome expected;
        make_program(&program, options->seed, number);
        if (rank == 0)
            run_program(&program, local, QUEUE_HEAP, MPI_COMM_SELF, &expected);
        MPI_Bcast(&expected, sizeof expected, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (expected.rounds > options->rounds) {
            totals->passed++;
            last++;
            continue;
        }
        for (int i = 0; i < PHASES; i++)
            if (options->everywhere || i == PHASES - 1 || number / 2 % 2 == (uint64_t)i)
                run_phase(&program, number, &phases[i], &expected, totals);
        totals->results[expected.result]++;
        totals->events += expected.events;
        totals->rounds += expected.rounds;
    }
    local->ops->destroy(local);
}

static struct transport *opened(struct transport *transport, const struct error *why)
{
    if (transport == NULL) {
        fprintf(stderr, "no shared memory: %s\n", why->text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return transport;
}

static void open_phase(struct phase *phase, int number, int rank)
{
    struct error why = {ERROR_NONE, ""};
    int size;
    MPI_Comm here;
    MPI_Comm_split(MPI_COMM_WORLD, group_of(number, rank), rank, &phase->comm);
    MPI_Comm_rank(phase->comm, &rank);
    MPI_Comm_size(phase->comm, &size);
    phase->mpi = transport_mpi_new(phase->comm);
    phase->shared = opened(transport_shared_new(phase->comm, NULL, &why), &why);
    for (int shape = 0; shape < SHAPES; shape++) {
        MPI_Comm_split(phase->comm, node_of((enum shape)shape, rank, size), rank, &here);
        phase->hybrid[shape] = opened(transport_hybrid_new(phase->comm, here, &why), &why);
        MPI_Comm_free(&here);
    }
}

static void close_phase(struct phase *phase)
{
    phase->mpi->ops->destroy(phase->mpi);
    phase->shared->ops->destroy(phase->shared);
    for (int shape = 0; shape < SHAPES; shape++)
        phase->hybrid[shape]->ops->destroy(phase->hybrid[shape]);
    MPI_Comm_free(&phase->comm);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'p':
        options->programs = strtoull(arg, NULL, 10);
        return 0;
    case 'f':
        options->first = strtoull(arg, NULL, 10);
        return 0;
    case 's':
        options->seed = strtoull(arg, NULL, 10);
        return 0;
    case 'r':
        options->rounds = strtoull(arg, NULL, 10);
        return 0;
    case 'a':
        options->everywhere = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void read_options(int argc, char **argv, struct options *options)
{
    static const struct argp_option list[] = {
        {"programs", 'p', "N", 0, "Random programs to run (24; long: 200)", 0},
        {"first", 'f', "N", 0, "Number of the first one (0)", 0},
        {"seed", 's', "N", 0, "Seed of them all (1)", 0},
        {"rounds", 'r', "N", 0, "Pass over programs of more rounds (60; long: none)", 0},
        {"all", 'a', NULL, 0, "All groups for each program (long: always)", 0},
        {0},
    };
    static const struct argp argp = {list, parse, NULL, "Random programs on the engine.", 0, 0, 0};
    bool is_long = getenv("AHBM_LONG_TESTS") != NULL;
    *options = (struct options){.programs = is_long ? 200 : 24,
                                .seed = 1,
                                .rounds = is_long ? UINT64_MAX : 60,
                                .everywhere = is_long};
    argp_parse(&argp, argc, argv, 0, NULL, options);
}

int main(int argc, char **argv)
{
    struct options options;
    struct phase phases[PHASES];
    struct totals totals = {0};
    int rank;
    read_options(argc, argv, &options);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < PHASES; i++)
        open_phase(&phases[i], i, rank);
    run_all(&options, phases, &totals);
    for (int i = 0; i < PHASES; i++)
        close_phase(&phases[i]);
    uint64_t failures = totals.failures;
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf(
            "%llu programs (%llu passed over): %llu done, %llu failed, %llu stopped; %llu events, "
            "%llu rounds, %llu messages; %llu disagreements\n",
            (unsigned long long)options.programs, (unsigned long long)totals.passed,
            (unsigned long long)totals.results[ENGINE_DONE],
            (unsigned long long)totals.results[ENGINE_FAILED],
            (unsigned long long)totals.results[ENGINE_STOPPED], (unsigned long long)totals.events,
            (unsigned long long)totals.rounds, (unsigned long long)totals.messages,
            (unsigned long long)failures);
    MPI_Finalize();
    return failures > 0;
}
