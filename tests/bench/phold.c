/* PHOLD on the engine, to compare it with other simulators.
 *
 * Every unit starts with some events; each event makes its unit send one, to itself or (with
 * probability `remote`) to a unit drawn from all, after lookahead + an exponential time, so that
 * the increments have the given mean. The draws are those of the bare prototype (phold_ceiling.c),
 * and so are event counts and digest, for every number of ranks and LPs. */
#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pdes/core/engine.h"
#include "pdes/transport/choice.h"
#include "support/memory.h"

static const double TICKS = 1e9; /* of simulated time per unit of the options */

struct options {
    uint32_t units;
    uint32_t events; /* per unit */
    uint32_t lps;    /* 0: one per rank */
    uint64_t seed;
    bool only_mpi;
    enum transport_choice transport;
    enum queue_kind queue;
    double lookahead;
    double mean;
    double remote;
    double end;
};

struct unit {
    uint64_t random;
    uint64_t hash;
};

struct phold {
    struct options options;
    uint32_t bits;
    uint64_t lookahead;
    uint64_t end;
    double scale; /* of the exponential part */
};

struct block { /* the state of one LP */
    const struct phold *phold;
    uint32_t first; /* index of its first unit */
    uint32_t count;
    struct unit *units;
};

static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double random_open(uint64_t *state) /* in (0, 1) */
{
    return ((double)(random_bits(state) >> 11) + 0.5) * (1.0 / 9007199254740992.0);
}

static uint64_t random_increment(const struct phold *phold, uint64_t *state)
{
    return phold->lookahead + (uint64_t)(phold->scale * log(random_open(state)));
}

/* The engine's number of a unit, and back. Blocks are contiguous, so both orders are the same. */
static uint32_t unit_id(const struct phold *phold, uint32_t index)
{
    uint32_t first, count;
    uint32_t lp = engine_owner(phold->options.units, phold->options.lps, index);
    engine_block(phold->options.units, phold->options.lps, lp, &first, &count);
    return lp << phold->bits | (index - first);
}

static uint32_t unit_index(const struct phold *phold, uint32_t id)
{
    uint32_t first, count;
    engine_block(phold->options.units, phold->options.lps, id >> phold->bits, &first, &count);
    return first + (id & ((1u << phold->bits) - 1));
}

static void handle(struct lp *lp, const struct event *event)
{
    struct block *block = lp->state;
    const struct phold *phold = block->phold;
    struct unit *unit = &block->units[event->dst & ((1u << phold->bits) - 1)];
    uint32_t self = event->dst;
    uint32_t src = event->src == self ? (self & ((1u << phold->bits) - 1)) + block->first
                                      : unit_index(phold, event->src);
    unit->hash = (unit->hash ^ (event->time + src)) * UINT64_C(0x100000001b3);
    uint32_t dst = self;
    if (random_open(&unit->random) <= phold->options.remote)
        dst = unit_id(
            phold, (uint32_t)(((random_bits(&unit->random) >> 32) * phold->options.units) >> 32));
    uint64_t time = event->time + random_increment(phold, &unit->random);
    if (time < phold->end)
        lp_send(lp, self, dst, 0, time);
}

static uint64_t promise(struct lp *lp, uint64_t next_event)
{
    return time_add_saturated(next_event, ((const struct block *)lp->state)->phold->lookahead);
}

static uint64_t reaction(const struct lp *lp, uint32_t to)
{
    (void)to;
    return ((const struct block *)lp->state)->phold->lookahead;
}

static lp_handler *const handlers[] = {handle};
static const char *const names[] = {"hold"};
static const struct lp_model model = {.handlers = handlers,
                                      .names = names,
                                      .kinds = 1,
                                      .promise = promise,
                                      .reaction = reaction,
                                      .memoryless = true};

static void start_unit(struct lp *lp, struct block *block, uint32_t number)
{
    const struct phold *phold = block->phold;
    struct unit *unit = &block->units[number];
    uint32_t id = lp->id << phold->bits | number;
    unit->hash = block->first + number;
    unit->random = unit->hash * UINT64_C(0x9e3779b97f4a7c15) + phold->options.seed;
    for (uint32_t i = 0; i < phold->options.events; i++) {
        uint64_t time = random_increment(phold, &unit->random);
        if (time < phold->end)
            lp_send(lp, id, id, 0, time);
    }
}

static void start_lp(struct lp *lp, const struct phold *phold)
{
    struct block *block = memory_new(1, sizeof *block);
    block->phold = phold;
    engine_block(phold->options.units, phold->options.lps, lp->id, &block->first, &block->count);
    block->units = memory_new(block->count, sizeof *block->units);
    lp->state = block;
    lp_set_units(lp, block->count);
    for (uint32_t number = 0; number < block->count; number++)
        start_unit(lp, block, number);
}

static struct engine *build(const struct phold *phold, struct transport *transport)
{
    uint32_t lps = phold->options.lps;
    struct engine_config config = {.lps = lps,
                                   .unit_bits = phold->bits,
                                   .model = &model,
                                   .transport = transport,
                                   .queue = phold->options.queue};
    struct engine *engine = engine_new(&config);
    for (uint32_t a = 0; a < lps; a++) {
        if (engine_lp(engine, a) == NULL)
            continue;
        for (uint32_t b = 0; b < lps; b++)
            engine_connect(engine, a, b);
        start_lp(engine_lp(engine, a), phold);
    }
    return engine;
}

/* Sum over this process's units, weighted by index; frees what start_lp() made. */
static uint64_t collect(struct engine *engine, uint32_t lps)
{
    uint64_t digest = 0;
    for (uint32_t i = 0; i < lps; i++) {
        struct lp *lp = engine_lp(engine, i);
        if (lp == NULL)
            continue;
        struct block *block = lp->state;
        for (uint32_t n = 0; n < block->count; n++)
            digest += block->units[n].hash * (2 * (block->first + n) + UINT64_C(1));
        memory_free(block->units);
        memory_free(block);
    }
    return digest;
}

/* Bytes of memory in use by this process, shared ones divided by their users. */
static uint64_t pss_bytes(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, "Pss: %llu kB", &kib) != 1)
        continue;
    fclose(file);
    return kib * 1024;
}

enum { SUM_DIGEST, SUM_EVENTS, SUM_MESSAGES, SUM_BYTES, SUM_PSS, SUMS };

static void report(const struct engine *engine, uint64_t digest, double wall, uint32_t ranks,
                   const char *name)
{
    struct engine_stats stats;
    engine_get_stats(engine, &stats);
    uint64_t sums[SUMS] = {digest, stats.events, stats.messages, stats.message_bytes, pss_bytes()};
    double times[2] = {stats.sync_s, stats.sync_s + stats.model_s};
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(MPI_IN_PLACE, sums, SUMS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &wall, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    printf(
        "np=%u transport=%s events=%llu wall=%.3f s rate=%.2f M events/s rounds=%llu us/round=%.1f "
        "messages=%llu (%.1f MB) sync=%.1f %% pss_sum=%.1f MB digest=%016llx\n",
        ranks, name, (unsigned long long)sums[SUM_EVENTS], wall,
        (double)sums[SUM_EVENTS] / wall * 1e-6, (unsigned long long)stats.rounds,
        wall / (double)stats.rounds * 1e6, (unsigned long long)sums[SUM_MESSAGES],
        (double)sums[SUM_BYTES] * 1e-6, 100 * times[0] / times[1], (double)sums[SUM_PSS] * 1e-6,
        (unsigned long long)sums[SUM_DIGEST]);
}

/* The memory of a program that only starts and ends MPI. */
static void report_mpi(void)
{
    uint64_t bytes = pss_bytes();
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("only MPI: pss_sum=%.1f MB\n", (double)bytes * 1e-6);
}

static void run(const struct options *options)
{
    struct phold phold = {.options = *options};
    struct error why;
    struct transport *transport = transport_open(MPI_COMM_WORLD, options->transport, &why);
    if (phold.options.lps == 0)
        phold.options.lps = transport->size;
    uint32_t most = (phold.options.units + phold.options.lps - 1) / phold.options.lps;
    while ((UINT32_C(1) << phold.bits) < most)
        phold.bits++;
    phold.lookahead = (uint64_t)(options->lookahead * TICKS);
    phold.end = (uint64_t)(options->end * TICKS);
    phold.scale = -(options->mean - options->lookahead) * TICKS;
    struct engine *engine = build(&phold, transport);
    struct error error = {ERROR_NONE, ""};
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    engine_run(engine, &error);
    double wall = MPI_Wtime() - begun;
    MPI_Barrier(MPI_COMM_WORLD); /* all still hold their memory */
    report(engine, collect(engine, phold.options.lps), wall, transport->size, transport->ops->name);
    engine_free(engine);
    transport->ops->destroy(transport);
}

enum { KEY_LPS = 256, KEY_LOOKAHEAD, KEY_MEAN, KEY_REMOTE, KEY_END, KEY_SEED, KEY_ONLY_MPI };

static error_t choose_workload(struct argp_state *state, const char *name)
{
    static const uint32_t workloads[3][2] = {{16384, 1}, {16384, 16}, {1024, 1}};
    struct options *options = state->input;
    if (name[0] != 'W' || name[1] < '1' || name[1] > '3' || name[2] != '\0')
        argp_error(state, "--workload is W1, W2 or W3");
    options->units = workloads[name[1] - '1'][0];
    options->events = workloads[name[1] - '1'][1];
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'w':
        return choose_workload(state, arg);
    case 'u':
        options->units = (uint32_t)strtoul(arg, NULL, 10);
        return 0;
    case 'e':
        options->events = (uint32_t)strtoul(arg, NULL, 10);
        return 0;
    case 't':
        options->transport = *arg == 'm'   ? TRANSPORT_MPI
                             : *arg == 's' ? TRANSPORT_SHARED
                                           : TRANSPORT_AUTO;
        return 0;
    case KEY_ONLY_MPI:
        options->only_mpi = true;
        return 0;
    case 'q':
        options->queue = *arg == 'h' ? QUEUE_HEAP : QUEUE_LADDER;
        return 0;
    case KEY_LPS:
        options->lps = (uint32_t)strtoul(arg, NULL, 10);
        return 0;
    case KEY_SEED:
        options->seed = strtoull(arg, NULL, 10);
        return 0;
    case KEY_LOOKAHEAD:
        options->lookahead = strtod(arg, NULL);
        return 0;
    case KEY_MEAN:
        options->mean = strtod(arg, NULL);
        return 0;
    case KEY_REMOTE:
        options->remote = strtod(arg, NULL);
        return 0;
    case KEY_END:
        options->end = strtod(arg, NULL);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void read_options(int argc, char **argv, struct options *options)
{
    static const struct argp_option list[] = {
        {"workload", 'w', "W1|W2|W3", 0, "16384 units x 1 event, 16384 x 16, 1024 x 1", 0},
        {"units", 'u', "N", 0, "Units in the whole model (16384)", 0},
        {"events", 'e', "N", 0, "First events per unit (1)", 0},
        {"transport", 't', "auto|mpi|shared", 0, "How ranks exchange events (auto)", 0},
        {"queue", 'q', "heap|ladder", 0, "Pending events (the engine's default)", 0},
        {"only-mpi", KEY_ONLY_MPI, 0, 0, "Start MPI, tell its memory, and end", 0},
        {"lps", KEY_LPS, "N", 0, "LPs that hold the units (one per rank)", 0},
        {"lookahead", KEY_LOOKAHEAD, "T", 0, "Least increment (0.1)", 0},
        {"mean", KEY_MEAN, "T", 0, "Mean increment, lookahead included (1.0)", 0},
        {"remote", KEY_REMOTE, "P", 0, "Share of events sent to a unit drawn from all (0.25)", 0},
        {"end", KEY_END, "T", 0, "Simulated time to run (100)", 0},
        {"seed", KEY_SEED, "N", 0, "Seed (12345, the prototype's)", 0},
        {0},
    };
    static const struct argp argp = {list, parse, NULL, "PHOLD on the engine.", 0, 0, 0};
    *options = (struct options){.units = 16384,
                                .events = 1,
                                .seed = 12345,
                                .queue = QUEUE_DEFAULT,
                                .lookahead = 0.1,
                                .mean = 1.0,
                                .remote = 0.25,
                                .end = 100};
    argp_parse(&argp, argc, argv, 0, NULL, options);
    if (options->units == 0 || options->lookahead * TICKS < 1 ||
        options->mean < options->lookahead) {
        fputs("phold: needs units > 0, lookahead > 0 and mean >= lookahead\n", stderr);
        exit(2);
    }
}

/* Ranks that outnumber the processors must yield; the user's own choice stands. */
static void yield_if_crowded(void)
{
    const char *ranks = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (ranks != NULL && strtol(ranks, NULL, 10) > sysconf(_SC_NPROCESSORS_ONLN))
        setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

int main(int argc, char **argv)
{
    struct options options;
    read_options(argc, argv, &options);
    yield_if_crowded();
    MPI_Init(&argc, &argv);
    if (options.only_mpi)
        report_mpi();
    else
        run(&options);
    MPI_Finalize();
    return 0;
}
