/* Random programs over four CUBEs: messages over every kind of queue, loads, stores and composites
 * on own and other shares, dots, MATH and waits, on random machines. They cannot deadlock: commands
 * are dealt out in one global order in which every recv follows its send or has a buffer of its
 * own. The engine checks every emission against its CUBE's promise, and stops the process when one
 * is early; a promise that knows nothing but the next event must give the same run. */
#include "../check.h"
#include "rules.h"

enum { PROGRAMS = 200, STEPS = 150, BUFFERS = 12, BUFFER_BYTES = 4096, POSTED = 0x40000 };

static uint64_t seed_of_run;

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return hash_finish(*state) % below;
}

static bool maybe(uint64_t *state, uint64_t one_in)
{
    return draw(state, one_in) == 0;
}

/* ---- random machines ---- */

static uint64_t cost(uint64_t *state, uint64_t below)
{
    return maybe(state, 3) ? 0 : draw(state, below);
}

static struct rate some_rate(uint64_t *state)
{
    return rate_reduce((struct rate){1 + draw(state, 40), 1 + draw(state, 40)});
}

static void some_geometry(uint64_t *state, struct geometry *geometry)
{
    static const struct geometry choices[] = {
        {{1, 1}, {2, 2}, {2, 2}, false, false, false}, {{1, 1}, {2, 2}, {4, 2}, true, false, false},
        {{1, 1}, {4, 1}, {2, 1}, true, false, false},  {{2, 1}, {2, 1}, {2, 2}, false, false, false},
        {{2, 2}, {1, 1}, {2, 1}, false, false, false}, {{1, 2}, {1, 2}, {4, 2}, false, false, false},
        {{1, 1}, {2, 1}, {2, 1}, true, false, false},  {{1, 1}, {3, 3}, {2, 1}, true, false, false},
        {{1, 1}, {2, 1}, {4, 4}, false, false, false}, {{3, 1}, {2, 1}, {1, 1}, false, false, false},
    };
    *geometry = choices[draw(state, sizeof choices / sizeof *choices)];
}

/* What only just works: queues of one, slots that cut messages oddly, a share that is nearly always
 * away, ports without end or nearly shut. */
static void some_extremes(uint64_t *state, struct machine_params *p)
{
    static const struct rate ports[] = {{1, 100000}, {2000, 3}};
    if (maybe(state, 3))
        p->sched.queue_commands = p->dma.queue_commands = p->ipcq.queue_commands = 1;
    if (maybe(state, 4))
        p->ipcq.slot_bytes = 68 + 4 * draw(state, 100);
    if (maybe(state, 4)) {
        p->hbm.refresh_interval_ps = 1000 + draw(state, 5000);
        p->hbm.refresh_busy_ps = p->hbm.refresh_interval_ps - 1 - draw(state, 500);
    }
    if (maybe(state, 5))
        p->hbm.interleave_bytes = 32 + draw(state, 700);
    if (maybe(state, 6))
        p->scratch.rate = ports[draw(state, 2)];
    for (int level = 0; level < LEVELS; level++)
        if (maybe(state, 8))
            p->link[level].rate = ports[draw(state, 2)];
}

/* Half of the machines cut through, on meshes and tori, with buffers as small as a flit. */
static void some_network(uint64_t *state, struct machine_params *p)
{
    struct network_params *network = &p->network;
    p->geometry.pe_torus = maybe(state, 2);
    p->geometry.sip_torus = maybe(state, 2);
    network->cut_through = maybe(state, 2);
    network->virtual_channels = 2 + draw(state, 4);
    network->buffer_flits = 1 + draw(state, 12);
    for (int level = 0; level < LEVELS; level++) {
        network->router_ps[level] = cost(state, 3000);
        network->width_bytes[level] = 1u << draw(state, 9);
    }
}

static struct machine_params some_machine(uint64_t *state)
{
    struct machine_params p = rig_params(2, 2);
    some_geometry(state, &p.geometry);
    for (int op = 0; op < OP_COUNT; op++)
        p.cpu.issue_ps[op] = cost(state, 5000);
    p.sched.pipeline_depth = 1 + draw(state, 9);
    p.sched.queue_commands = 1 + draw(state, 4);
    p.dma.setup_ps = cost(state, 3000);
    p.dma.request_ps = cost(state, 300);
    p.dma.channels = 1 + draw(state, 4);
    p.dma.queue_depth = 1 + draw(state, 16);
    p.dma.request_bytes = 64u << draw(state, 8);
    p.dma.queue_commands = 1 + draw(state, 8);
    p.hbm.rate = some_rate(state);
    p.hbm.rate.den *= 8;
    p.hbm.interleave_bytes = 64u << draw(state, 4);
    p.hbm.latency_ps = cost(state, 50000);
    p.hbm.refresh_interval_ps = 5000 + draw(state, 50000);
    p.hbm.refresh_busy_ps = cost(state, 4000);
    p.gemm.clock = some_rate(state);
    p.gemm.macs_per_cycle = 1000 + draw(state, 10000);
    p.gemm.fill_cycles = cost(state, 100);
    p.math.clock = some_rate(state);
    p.math.startup_ps = cost(state, 40000);
    p.scratch.rate = some_rate(state);
    p.ipcq.slots = 1 + draw(state, 4);
    p.ipcq.slot_bytes = 64u << draw(state, 7);
    p.ipcq.queue_commands = 1 + draw(state, 4);
    p.ipcq.credit_bytes = 1 + draw(state, 64);
    for (int level = 0; level < LEVELS; level++) {
        p.ipcq.copy_ps[level] = cost(state, 700000);
        p.link[level].rate = some_rate(state);
        p.link[level].latency_ps = 1 + cost(state, 20000);
    }
    some_extremes(state, &p);
    some_network(state, &p);
    if (maybe(state, 2))
        rig_random_dram(&p.hbm, state);
    return p;
}

/* ---- random programs ---- */

/* A recv that was posted before its send. */
struct posted {
    uint32_t cube, pe;
    enum queue_id queue;
    struct operand shape;
    uint64_t at; /* the step at which the send comes */
    bool live;
};

struct deal {
    struct rig *rig;
    uint64_t *state;
    uint64_t step;
    uint64_t posts; /* so far: each has its own buffer */
    struct posted posted[4];
    uint64_t copies, reads, writes, gemms, maths, emissions;
    uint64_t sent_bytes, read_bytes, write_bytes;
};

static struct operand some_buffer(struct deal *deal, uint32_t rows, uint32_t cols, enum dtype dtype)
{
    return scratch_at(draw(deal->state, BUFFERS) * BUFFER_BYTES, rows, cols, dtype);
}

static struct operand some_row(struct deal *deal)
{
    return some_buffer(deal, 1, 1 + (uint32_t)draw(deal->state, BUFFER_BYTES / 4), DTYPE_F32);
}

static uint16_t some_share(struct deal *deal, uint32_t pe)
{
    if (maybe(deal->state, 3))
        return OPERAND_STACK;
    return (uint16_t)(maybe(deal->state, 3) ? draw(deal->state, deal->rig->pes) : pe);
}

static struct operand some_hbm(struct deal *deal, uint32_t pe, uint32_t rows, uint32_t cols,
                               enum dtype dtype)
{
    return hbm_at(some_share(deal, pe), 64 * draw(deal->state, 1000), rows, cols, dtype);
}

static void deal_transfer(struct deal *deal, uint32_t cube, uint32_t pe)
{
    struct operand row = some_row(deal);
    struct operand hbm = some_hbm(deal, pe, row.rows, row.cols, DTYPE_F32);
    if (maybe(deal->state, 3)) {
        rig_add(deal->rig, cube, pe, (struct command){.op = OP_STORE, .a = row, .out = hbm});
        deal->writes++;
        deal->write_bytes += operand_bytes(&hbm);
    } else {
        rig_add(deal->rig, cube, pe, (struct command){.op = OP_LOAD, .a = hbm, .out = row});
        deal->reads++;
        deal->read_bytes += operand_bytes(&hbm);
    }
}

static void deal_gemm(struct deal *deal, uint32_t cube, uint32_t pe)
{
    uint32_t m = 1 + (uint32_t)draw(deal->state, 8), k = 1 + (uint32_t)draw(deal->state, 160);
    uint32_t n = 1 + (uint32_t)draw(deal->state, 100);
    bool stream = !maybe(deal->state, 4);
    struct command command = {
        .op = stream || maybe(deal->state, 2) ? OP_COMPOSITE : OP_DOT,
        .a = some_buffer(deal, m, k, DTYPE_BF16),
        .b = stream ? some_hbm(deal, pe, k, n, DTYPE_BF16) : scratch_at(0x80000, k, n, DTYPE_BF16),
        .out = some_buffer(deal, m, n, DTYPE_F32),
    };
    if (command.op == OP_COMPOSITE)
        command.epilogue = (uint8_t)draw(deal->state, 16);
    if (command.epilogue & (EPILOGUE_RESCALE | EPILOGUE_SOFTMAX_MERGE))
        for (int i = 0; i < 3; i++)
            command.state[i] = some_buffer(deal, m, 1, DTYPE_F32);
    rig_add(deal->rig, cube, pe, command);
    deal->gemms++;
    deal->reads += stream;
    deal->read_bytes += stream ? operand_bytes(&command.b) : 0;
}

static void deal_math(struct deal *deal, uint32_t cube, uint32_t pe)
{
    struct operand a = some_row(deal), out = a;
    out.addr = some_row(deal).addr;
    rig_add(deal->rig, cube, pe, make_math((enum math_fn)draw(deal->state, MATH_FNS), out, a));
    deal->maths++;
}

/* The PE at the other end of a queue pair. */
static bool peer(const struct rig *rig, uint32_t cube, uint32_t pe, enum queue_id queue,
                 uint32_t *to_cube, uint32_t *to_pe)
{
    const struct geometry *geometry = &rig->params.geometry;
    enum direction direction = queue_direction(queue);
    *to_cube = cube;
    *to_pe = pe;
    switch (queue_level(queue)) {
    case LEVEL_PE:
        return pe_neighbour(geometry, pe, direction, to_pe);
    case LEVEL_CUBE:
        return cube_neighbour(geometry, cube, direction, to_cube) && *to_cube != cube;
    default:
        return sip_neighbour(geometry, cube, direction, to_cube);
    }
}

static enum queue_id other_end(enum queue_id queue)
{
    return queue_at(queue_level(queue), direction_opposite(queue_direction(queue)));
}

/* Whether a posted recv owns the next message of this queue pair. */
static bool is_posted(const struct deal *deal, uint32_t cube, uint32_t pe, enum queue_id queue)
{
    for (int i = 0; i < 4; i++) {
        const struct posted *p = &deal->posted[i];
        if (p->live && p->cube == cube && p->pe == pe && p->queue == queue)
            return true;
    }
    return false;
}

static void deal_send(struct deal *deal, uint32_t cube, uint32_t pe, enum queue_id queue,
                      struct operand shape)
{
    shape.addr = draw(deal->state, BUFFERS) * BUFFER_BYTES;
    rig_add(deal->rig, cube, pe,
            (struct command){.op = OP_SEND, .queue = (uint8_t)queue, .a = shape});
    deal->copies++;
    deal->sent_bytes += operand_bytes(&shape);
    deal->emissions += queue_level(queue) != LEVEL_PE ? 2 : 0; /* and its recv's credit */
}

static void deal_recv(struct deal *deal, uint32_t cube, uint32_t pe, enum queue_id queue,
                      struct operand shape, bool blocks)
{
    rig_add(deal->rig, cube, pe,
            (struct command){
                .op = blocks ? OP_RECV : OP_RECV_ASYNC, .queue = (uint8_t)queue, .out = shape});
}

/* Posts a recv_async whose send comes some steps later. The buffer is used by nothing else. */
static void post(struct deal *deal, struct posted *posted, uint32_t cube, uint32_t pe,
                 enum queue_id queue, struct operand shape)
{
    shape.addr = POSTED + deal->posts++ * BUFFER_BYTES;
    *posted = (struct posted){cube, pe, queue, shape, deal->step + draw(deal->state, 12), true};
    deal_recv(deal, cube, pe, queue, shape, false);
}

static void deal_message(struct deal *deal, uint32_t cube, uint32_t pe)
{
    enum queue_id queue = (enum queue_id)draw(deal->state, QUEUES), theirs = other_end(queue);
    uint32_t to_cube, to_pe;
    if (!peer(deal->rig, cube, pe, queue, &to_cube, &to_pe) ||
        is_posted(deal, to_cube, to_pe, theirs))
        return;
    struct operand shape = some_row(deal);
    struct posted *free_post = NULL;
    for (int i = 0; i < 4; i++)
        if (!deal->posted[i].live)
            free_post = &deal->posted[i];
    if (maybe(deal->state, 4) && free_post != NULL && deal->posts < 32) {
        post(deal, free_post, to_cube, to_pe, theirs, shape);
        return;
    }
    deal_send(deal, cube, pe, queue, shape);
    shape.addr = draw(deal->state, BUFFERS) * BUFFER_BYTES;
    deal_recv(deal, to_cube, to_pe, theirs, shape, maybe(deal->state, 2));
}

static void send_posted(struct deal *deal)
{
    for (int i = 0; i < 4; i++) {
        struct posted *p = &deal->posted[i];
        uint32_t cube, pe;
        if (!p->live || p->at > deal->step)
            continue;
        p->live = false;
        if (peer(deal->rig, p->cube, p->pe, p->queue, &cube, &pe))
            deal_send(deal, cube, pe, other_end(p->queue), p->shape);
    }
}

static void deal_step(struct deal *deal)
{
    uint32_t cube = (uint32_t)draw(deal->state, deal->rig->cubes_count);
    uint32_t pe = (uint32_t)draw(deal->state, deal->rig->pes);
    switch (draw(deal->state, 8)) {
    case 0:
        deal_transfer(deal, cube, pe);
        break;
    case 1:
        deal_gemm(deal, cube, pe);
        break;
    case 2:
        deal_math(deal, cube, pe);
        break;
    case 3:
        rig_add(deal->rig, cube, pe, make_wait(some_row(deal)));
        break;
    default:
        deal_message(deal, cube, pe);
    }
}

static void deal_out(struct deal *deal)
{
    for (deal->step = 0; deal->step < STEPS; deal->step++) {
        send_posted(deal);
        deal_step(deal);
    }
    deal->step += 1000;
    send_posted(deal);
}

/* ---- runs ---- */

/* Knows that every link takes a picosecond, and nothing else. */
static uint64_t weak_promise(struct lp *lp, uint64_t next_event)
{
    (void)lp;
    return time_add_saturated(next_event, 1);
}

struct run {
    uint64_t digest, rounds, events, emissions;
};

static struct run run_program(uint64_t number, bool weak)
{
    struct rig rig;
    uint64_t state = number * 7919 + 1;
    struct machine_params params = some_machine(&state);
    struct lp_model model = *cube_model();
    rig_init(&rig, &params);
    struct deal deal = {.rig = &rig, .state = &state};
    deal_out(&deal);
    rig_start(&rig);
    model.promise = weak_promise;
    for (uint32_t i = 0; i < rig.cubes_count && weak; i++)
        engine_lp(rig.engine, i)->model = &model;
    seed_of_run = number;
    RUN_CLEAN(&rig);
    struct pe_result total;
    const char *broken = rules_broken(&rig, &total);
    if (broken != NULL)
        fprintf(stderr, "\n  program %llu breaks: %s\n", (unsigned long long)number, broken);
    CU_ASSERT_PTR_NULL(broken);
    EQUAL(total.cpu.counts[COUNT_IPCQ_COPY], deal.copies);
    EQUAL(total.cpu.counts[COUNT_DMA_READ], deal.reads);
    EQUAL(total.cpu.counts[COUNT_DMA_WRITE], deal.writes);
    EQUAL(total.cpu.counts[COUNT_GEMM], deal.gemms);
    EQUAL(total.cpu.counts[COUNT_MATH], deal.maths);
    EQUAL(total.ipcq.sent_bytes, deal.sent_bytes);
    EQUAL(total.dma.read_bytes, deal.read_bytes);
    EQUAL(total.dma.write_bytes, deal.write_bytes);
    struct engine_stats stats;
    engine_get_stats(rig.engine, &stats);
    struct run run = {rig_digest(&rig), stats.rounds, stats.events, deal.emissions};
    rig_fini(&rig);
    return run;
}

static void on_abort(int number)
{
    fprintf(stderr, "random program %llu\n", (unsigned long long)seed_of_run);
    signal(number, SIG_DFL);
    raise(number);
}

/* More programs: AHBM_TEST_PROGRAMS=10000, from AHBM_TEST_FIRST on. */
static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void test_random_programs(void)
{
    uint64_t first = from_environment("AHBM_TEST_FIRST", 0), rounds = 0, weak_rounds = 0;
    uint64_t count = from_environment("AHBM_TEST_PROGRAMS", PROGRAMS), emissions = 0;
    signal(SIGABRT, on_abort);
    for (uint64_t number = first; number < first + count; number++) {
        struct run run = run_program(number, false), weak = run_program(number, true);
        if (run.digest != weak.digest)
            fprintf(stderr, "\n  program %llu depends on its windows\n",
                    (unsigned long long)number);
        CU_ASSERT_EQUAL(run.digest, weak.digest);
        CU_ASSERT_EQUAL(run.events, weak.events);
        rounds += run.rounds;
        weak_rounds += weak.rounds;
        emissions += run.emissions;
    }
    signal(SIGABRT, SIG_DFL);
    CU_ASSERT_TRUE(4 * rounds < weak_rounds);
    printf("%llu programs, %llu emissions: %llu rounds, %llu with a weak promise ... ",
           (unsigned long long)count, (unsigned long long)emissions, (unsigned long long)rounds,
           (unsigned long long)weak_rounds);
}

CHECK_MAIN("machine/random", CHECK_TEST(test_random_programs))
