/* Inter-PE queues: the cost of a copy, slots, credits and back-pressure at both levels, fragments,
 * and what is told of messages that do not match or never meet. */
#include "../check.h"
#include "rig.h"

enum { CREDIT = 16 };

/* A pair of PEs that are neighbours: inside a CUBE (0 and 2) or in two CUBEs. */
struct pair {
    enum queue_level level;
    uint32_t from_cube, from_pe, to_cube, to_pe;
    enum queue_id out, in;
    uint64_t latency;
};

static const struct pair pairs[] = {
    {LEVEL_PE, 0, 0, 0, 2, QUEUE_PE_W, QUEUE_PE_E, 100},
    {LEVEL_CUBE, 0, 3, 1, 3, QUEUE_CUBE_E, QUEUE_CUBE_W, 1000},
};

enum { PAIRS = sizeof pairs / sizeof *pairs };

static void open_rig(struct rig *rig)
{
    struct machine_params params = rig_params(2, 1);
    params.ipcq.copy_ps[LEVEL_PE] = 5000;
    params.ipcq.copy_ps[LEVEL_CUBE] = 7000;
    rig_init(rig, &params);
}

static uint64_t copy_cost(const struct rig *rig, const struct pair *pair)
{
    return rig->params.ipcq.copy_ps[pair->level];
}

static uint64_t add_send(struct rig *rig, const struct pair *pair, uint64_t addr, uint64_t bytes)
{
    return rig_add(rig, pair->from_cube, pair->from_pe, make_send(pair->out, addr, bytes));
}

static uint64_t add_recv(struct rig *rig, const struct pair *pair, enum op op, uint64_t addr,
                         uint64_t bytes)
{
    return rig_add(rig, pair->to_cube, pair->to_pe, make_recv(op, pair->in, addr, bytes));
}

static uint64_t sent(const struct rig *rig, const struct pair *pair, uint64_t command)
{
    return rig_end(rig, pair->from_cube, pair->from_pe, command);
}

static uint64_t received(const struct rig *rig, const struct pair *pair, uint64_t command)
{
    return rig_end(rig, pair->to_cube, pair->to_pe, command);
}

static void test_one_copy(void)
{
    for (int i = 0; i < PAIRS; i++)
        for (uint64_t bytes = 4; bytes <= 8192; bytes *= 8) {
            struct rig rig;
            open_rig(&rig);
            rig.params.cpu.issue_ps[OP_SEND] = 20;
            rig.params.cpu.issue_ps[OP_RECV] = 30;
            add_send(&rig, &pairs[i], 0, bytes);
            add_recv(&rig, &pairs[i], OP_RECV, 0, bytes);
            RUN_CLEAN(&rig);
            uint64_t copied = 20 + copy_cost(&rig, &pairs[i]) + bytes;
            EQUAL(sent(&rig, &pairs[i], 1), copied);
            EQUAL(received(&rig, &pairs[i], 1), copied + bytes + pairs[i].latency + bytes);
            struct pe_result from = rig_pe(&rig, pairs[i].from_cube, pairs[i].from_pe);
            struct pe_result to = rig_pe(&rig, pairs[i].to_cube, pairs[i].to_pe);
            EQUAL(from.cpu.counts[COUNT_IPCQ_COPY], 1);
            EQUAL(to.cpu.counts[COUNT_IPCQ_COPY], 0);
            EQUAL(from.ipcq.sent_bytes, bytes);
            EQUAL(to.ipcq.received_bytes, bytes);
            EQUAL(to.ipcq.fragments, 1);
            EQUAL(from.busy_ps[ENGINE_IPCQ], copied - 20);
            EQUAL(to.busy_ps[ENGINE_IPCQ], bytes);
            const struct trace_record *recv = rig_record(&rig, pairs[i].to_cube, pairs[i].to_pe, 1);
            EQUAL(recv->cause, CAUSE_MESSAGE);
            EQUAL(recv->cause_cube, pairs[i].from_cube);
            EQUAL(recv->cause_pe, pairs[i].from_pe);
            rig_fini(&rig);
        }
}

/* A message that is there already: recv takes the drain only. */
static void test_late_receiver(void)
{
    struct rig rig;
    open_rig(&rig);
    rig.params.cpu.issue_ps[OP_WAIT] = 1000000;
    add_send(&rig, &pairs[0], 0, 512);
    rig_add(&rig, 0, 2, make_wait(bytes_at(0x8000, 4)));
    add_recv(&rig, &pairs[0], OP_RECV, 0, 512);
    RUN_CLEAN(&rig);
    EQUAL(received(&rig, &pairs[0], 2), 1000000 + 512);
    EQUAL(rig_record(&rig, 0, 2, 2)->cause, CAUSE_PROGRAM);
    rig_fini(&rig);
}

/* `slots` messages leave without a receiver; each further copy starts when a credit comes back. */
static void check_slots(const struct pair *pair, uint64_t slots)
{
    enum { COUNT = 12, LATE = 10000000, BYTES = 256 };
    struct rig rig;
    open_rig(&rig);
    rig.params.ipcq.slots = slots;
    rig.params.ipcq.queue_commands = 16;
    rig.params.cpu.issue_ps[OP_WAIT] = LATE;
    rig_add(&rig, pair->to_cube, pair->to_pe, make_wait(bytes_at(0x8000, 4)));
    for (uint64_t i = 0; i < COUNT; i++) {
        add_send(&rig, pair, BYTES * i, BYTES);
        add_recv(&rig, pair, OP_RECV_ASYNC, BYTES * i, BYTES);
    }
    RUN_CLEAN(&rig);
    uint64_t cost = copy_cost(&rig, pair) + BYTES, free_at = 0, drained = LATE;
    uint64_t ends[COUNT], drains[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t credit = i < slots ? 0 : drains[i - slots] + CREDIT + pair->latency;
        ends[i] = free_at = time_max(free_at, credit) + cost;
        drains[i] = drained = time_max(drained, ends[i] + BYTES + pair->latency) + BYTES;
        EQUAL(sent(&rig, pair, i + 1), ends[i]);
        EQUAL(received(&rig, pair, i + 2), drains[i]);
        if (i == slots) {
            const struct trace_record *first =
                rig_record(&rig, pair->from_cube, pair->from_pe, i + 1);
            EQUAL(first->cause, CAUSE_CREDIT);
            EQUAL(first->cause_pe, pair->to_pe);
            EQUAL(first->cause_cube, pair->to_cube);
            EQUAL(first->cause_command, 2);
        }
    }
    rig_fini(&rig);
}

static void test_back_pressure(void)
{
    for (int i = 0; i < PAIRS; i++)
        for (uint64_t slots = 1; slots <= 13; slots++)
            check_slots(&pairs[i], slots);
}

/* The CPU stalls at the send that does not fit into the queue of commands, no earlier. */
static void test_queue_of_sends(void)
{
    for (int i = 0; i < PAIRS; i++) {
        struct rig rig;
        open_rig(&rig);
        rig.params.ipcq.queue_commands = 3;
        for (uint64_t n = 0; n < 5; n++) {
            add_send(&rig, &pairs[i], 1024 * n, 64);
            add_recv(&rig, &pairs[i], OP_RECV, 1024 * n, 64);
        }
        RUN_CLEAN(&rig);
        EQUAL(rig_issue(&rig, pairs[i].from_cube, pairs[i].from_pe, 3), 0);
        EQUAL(rig_issue(&rig, pairs[i].from_cube, pairs[i].from_pe, 4), sent(&rig, &pairs[i], 1));
        EQUAL(rig_issue(&rig, pairs[i].from_cube, pairs[i].from_pe, 5), sent(&rig, &pairs[i], 2));
        rig_fini(&rig);
    }
}

/* One copy cost, `count` fragments of a slot; with fewer slots each waits for a credit. */
static void check_fragments(const struct pair *pair, uint64_t slots, uint64_t count, uint64_t last)
{
    enum { SLOT = 512 };
    struct rig rig;
    open_rig(&rig);
    rig.params.ipcq.slots = slots;
    rig.params.ipcq.slot_bytes = SLOT;
    uint64_t bytes = (count - 1) * SLOT + last;
    add_send(&rig, pair, 0, bytes);
    add_recv(&rig, pair, OP_RECV, 0, bytes);
    RUN_CLEAN(&rig);
    uint64_t copied = copy_cost(&rig, pair), link = 0, drained = 0, drains[64];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size = i + 1 < count ? (uint64_t)SLOT : last;
        uint64_t credit = i < slots ? 0 : drains[i - slots] + CREDIT + pair->latency;
        copied = time_max(copied, credit) + size;
        link = time_max(link, copied) + size;
        drains[i] = drained = time_max(drained, link + pair->latency) + size;
    }
    EQUAL(sent(&rig, pair, 1), copied);
    EQUAL(received(&rig, pair, 1), drained);
    struct pe_result to = rig_pe(&rig, pair->to_cube, pair->to_pe);
    EQUAL(to.ipcq.fragments, count);
    EQUAL(to.ipcq.received_bytes, bytes);
    EQUAL(rig_pe(&rig, pair->from_cube, pair->from_pe).cpu.counts[COUNT_IPCQ_COPY], 1);
    rig_fini(&rig);
}

static void test_fragments(void)
{
    for (int i = 0; i < PAIRS; i++)
        for (uint64_t slots = 1; slots <= 9; slots += 2)
            for (uint64_t count = 1; count <= 33; count += 8)
                for (uint64_t last = 4; last <= 512; last += 508)
                    check_fragments(&pairs[i], slots, count, last);
}

/* Fragments of two messages do not mix, whatever lies between their recvs. */
static void test_messages_in_order(void)
{
    struct rig rig;
    open_rig(&rig);
    rig.params.ipcq.slot_bytes = 64;
    static const uint64_t sizes[] = {200, 64, 4, 1000, 60};
    uint64_t total = 0;
    for (uint64_t i = 0; i < 5; i++) {
        add_send(&rig, &pairs[1], 2048 * i, sizes[i]);
        add_recv(&rig, &pairs[1], i % 2 ? OP_RECV : OP_RECV_ASYNC, 2048 * i, sizes[i]);
        total += sizes[i];
    }
    RUN_CLEAN(&rig);
    for (uint64_t i = 1; i < 5; i++)
        CU_ASSERT_TRUE(received(&rig, &pairs[1], i) < received(&rig, &pairs[1], i + 1));
    EQUAL(rig_pe(&rig, 1, 3).ipcq.received_bytes, total);
    EQUAL(rig_pe(&rig, 1, 3).ipcq.fragments, 4 + 1 + 1 + 16 + 1);
    rig_fini(&rig);
}

/* A queue that is stuck for want of credits does not hold up its neighbours. */
static void test_queues_block_only_themselves(void)
{
    struct rig rig;
    open_rig(&rig);
    rig.params.ipcq.slots = 1;
    rig.params.cpu.issue_ps[OP_WAIT] = 10000000;
    rig_add(&rig, 0, 0, make_send(QUEUE_PE_W, 0, 64));
    rig_add(&rig, 0, 0, make_send(QUEUE_PE_W, 1024, 64)); /* no slot until PE 2 wakes up */
    rig_add(&rig, 0, 0, make_send(QUEUE_PE_N, 2048, 64));
    rig_add(&rig, 0, 0, make_send(QUEUE_CUBE_E, 4096, 64));
    rig_add(&rig, 0, 2, make_wait(bytes_at(0x8000, 4)));
    rig_add(&rig, 0, 2, make_recv(OP_RECV, QUEUE_PE_E, 0, 64));
    rig_add(&rig, 0, 2, make_recv(OP_RECV, QUEUE_PE_E, 0, 64));
    rig_add(&rig, 0, 1, make_recv(OP_RECV, QUEUE_PE_S, 0, 64));
    rig_add(&rig, 1, 0, make_recv(OP_RECV, QUEUE_CUBE_W, 0, 64));
    RUN_CLEAN(&rig);
    CU_ASSERT_TRUE(rig_end(&rig, 0, 0, 2) > 10000000);
    EQUAL(rig_end(&rig, 0, 1, 1), 5000 + 64 + 64 + 100 + 64);
    EQUAL(rig_end(&rig, 1, 0, 1), 7000 + 64 + 64 + 1000 + 64);
    rig_fini(&rig);
}

/* ---- what cannot work ---- */

static void check_error(struct rig *rig, const char *text)
{
    EQUAL(rig_run(rig), ENGINE_FAILED);
    if (strcmp(rig->error.text, text) != 0)
        fprintf(stderr, "\n  got    %s\n  wanted %s\n", rig->error.text, text);
    CU_ASSERT_STRING_EQUAL(rig->error.text, text);
    rig_fini(rig);
}

static void test_mismatches(void)
{
    struct rig rig;
    open_rig(&rig);
    rig_add(&rig, 1, 3, make_wait(bytes_at(0x8000, 4)));
    add_send(&rig, &pairs[1], 0, 64);
    add_recv(&rig, &pairs[1], OP_RECV, 0, 68);
    check_error(&rig,
                "kernel script, CUBE 1 PE 3, command 2 (script.c:2): recv from cube.W expects "
                "[1, 17] f32, but command 1 of CUBE 0 PE 3 sent [1, 16] f32");
    open_rig(&rig); /* the same bytes in another shape or type are no match either */
    add_send(&rig, &pairs[0], 0, 64);
    struct command recv = make_recv(OP_RECV, QUEUE_PE_E, 0, 64);
    recv.out = scratch_at(0, 16, 1, DTYPE_F32);
    rig_add(&rig, 0, 2, recv);
    check_error(&rig, "kernel script, CUBE 0 PE 2, command 1 (script.c:1): recv from pe.E expects "
                      "[16, 1] f32, but command 1 of CUBE 0 PE 0 sent [1, 16] f32");
    open_rig(&rig);
    add_send(&rig, &pairs[0], 0, 64);
    recv.out = scratch_at(0, 1, 32, DTYPE_BF16);
    rig_add(&rig, 0, 2, recv);
    check_error(&rig, "kernel script, CUBE 0 PE 2, command 1 (script.c:1): recv from pe.E expects "
                      "[1, 32] bf16, but command 1 of CUBE 0 PE 0 sent [1, 16] f32");
}

static void test_send_without_recv(void)
{
    for (int i = 0; i < PAIRS; i++) {
        struct rig rig;
        struct error err = {ERROR_NONE, ""};
        struct pe_wait wait;
        open_rig(&rig);
        add_send(&rig, &pairs[i], 0, 128);
        EQUAL(rig_run(&rig), ENGINE_DONE);
        EQUAL(cube_unfinished(rig.cubes[0], &wait, 1), 0);
        CU_ASSERT_TRUE(cube_leftover(rig.cubes[pairs[i].to_cube], &err));
        CU_ASSERT_STRING_EQUAL(
            err.text, i == 0 ? "a send without its recv: command 1 of CUBE 0 PE 0 sent [1, 32] f32 "
                               "to queue pe.E of CUBE 0 PE 2, which never took it"
                             : "a send without its recv: command 1 of CUBE 0 PE 3 sent [1, 32] f32 "
                               "to queue cube.W of CUBE 1 PE 3, which never took it");
        rig_fini(&rig);
    }
}

static void expect_wait(const struct rig *rig, uint32_t cube, uint32_t index, uint32_t unit,
                        uint32_t waits_for, const char *text)
{
    struct pe_wait waits[8];
    uint32_t count = cube_unfinished(rig->cubes[cube], waits, 8);
    CU_ASSERT_FATAL(index < count);
    EQUAL(waits[index].unit, unit);
    EQUAL(waits[index].waits_for, waits_for);
    if (strcmp(waits[index].text, text) != 0)
        fprintf(stderr, "\n  got    %s\n  wanted %s\n", waits[index].text, text);
    CU_ASSERT_STRING_EQUAL(waits[index].text, text);
}

/* Who waits for whom, where, when nothing is left to happen. */
static void test_waits(void)
{
    struct rig rig;
    open_rig(&rig);
    rig.params.ipcq.slots = 1;
    rig_add(&rig, 0, 3, make_recv(OP_RECV, QUEUE_CUBE_E, 0, 64));
    rig_add(&rig, 0, 3, make_send(QUEUE_CUBE_E, 0, 64));
    rig_add(&rig, 1, 3, make_recv(OP_RECV, QUEUE_CUBE_W, 0, 64));
    rig_add(&rig, 1, 3, make_send(QUEUE_CUBE_W, 0, 64));
    EQUAL(rig_run(&rig), ENGINE_DONE);
    expect_wait(&rig, 0, 0, unit_of(0, 3, UNIT_CPU), unit_of(1, 3, UNIT_CPU),
                "CUBE 0 PE 3 waits at command 1 (recv cube.E, script.c:1)");
    expect_wait(&rig, 1, 0, unit_of(1, 3, UNIT_CPU), unit_of(0, 3, UNIT_CPU),
                "CUBE 1 PE 3 waits at command 1 (recv cube.W, script.c:1)");
    rig_fini(&rig);
}

/* The same for what is stuck without standing at a send or recv. */
static void test_stuck_transfers(void)
{
    struct rig rig;
    open_rig(&rig);
    rig.params.ipcq.slots = 1;
    for (uint32_t pe = 0; pe < 2; pe++) { /* both have a neighbour to the west: 2 and 3 */
        rig_add(&rig, 0, pe, make_send(QUEUE_PE_W, 0, 64));
        rig_add(&rig, 0, pe, make_send(QUEUE_PE_W, 1024, 64));
    }
    rig_add(&rig, 0, 0, make_wait(bytes_at(1024, 64)));
    rig_add(&rig, 0, 7, make_recv(OP_RECV_ASYNC, QUEUE_PE_W, 0, 64)); /* 7 at (1, 0): 5 */
    EQUAL(rig_run(&rig), ENGINE_DONE);
    expect_wait(&rig, 0, 0, unit_of(0, 0, UNIT_CPU), unit_of(0, 2, UNIT_CPU),
                "CUBE 0 PE 0 waits at command 3 (wait, script.c:3)");
    expect_wait(&rig, 0, 1, unit_of(0, 1, UNIT_CPU), unit_of(0, 3, UNIT_CPU),
                "CUBE 0 PE 1 has ended, but its command 2 (send pe.W, script.c:2) has not");
    expect_wait(&rig, 0, 2, unit_of(0, 7, UNIT_CPU), unit_of(0, 5, UNIT_CPU),
                "CUBE 0 PE 7 has ended, but its command 1 (recv_async pe.W, script.c:1) has not");
    rig_fini(&rig);
}

/* Nothing but the queues' own limits holds up the CPU: whoever posts many receives still gets to
 * the send that their sender waits for. */
static void test_many_posted(void)
{
    for (int i = 0; i < PAIRS; i++) {
        struct rig rig;
        open_rig(&rig);
        rig.params.ipcq.queue_commands = 1024;
        for (uint64_t n = 0; n < 600; n++)
            add_recv(&rig, &pairs[i], OP_RECV_ASYNC, 64 * n, 64);
        rig_add(&rig, pairs[i].to_cube, pairs[i].to_pe, make_send(pairs[i].in, 0x40000, 64));
        rig_add(&rig, pairs[i].from_cube, pairs[i].from_pe,
                make_recv(OP_RECV, pairs[i].out, 0, 64));
        for (uint64_t n = 0; n < 600; n++)
            add_send(&rig, &pairs[i], 1024, 64);
        EQUAL(rig_run(&rig), ENGINE_DONE);
        CU_ASSERT_TRUE(rig_clean(&rig));
        rig_fini(&rig);
    }
}

static void test_many_stuck(void)
{
    struct rig rig;
    open_rig(&rig);
    rig.params.ipcq.queue_commands = 70;
    for (uint64_t i = 0; i <= 70; i++)
        rig_add(&rig, 0, 0, make_recv(OP_RECV_ASYNC, QUEUE_PE_W, 64 * i, 64));
    EQUAL(rig_run(&rig), ENGINE_DONE);
    expect_wait(&rig, 0, 0, unit_of(0, 0, UNIT_CPU), unit_of(0, 2, UNIT_CPU),
                "CUBE 0 PE 0 waits at command 71 (recv_async pe.W, script.c:71)");
    rig_fini(&rig);
}

static bool blind_scout(struct program *program, struct scout_sink *sink)
{
    (void)program;
    (void)sink;
    return false;
}

/* A kernel that records another thing each time it is run. */
static void test_not_foreseen(void)
{
    static struct program_ops ops;
    for (int i = 0; i < PAIRS; i++) {
        struct rig rig;
        open_rig(&rig);
        add_send(&rig, &pairs[i], 0, 64);
        struct program *program = rig.programs[pairs[i].from_cube * rig.pes + pairs[i].from_pe];
        ops = *program->ops;
        ops.scout = blind_scout;
        program->ops = &ops;
        EQUAL(rig_run(&rig), ENGINE_FAILED);
        CU_ASSERT_PTR_NOT_NULL(strstr(rig.error.text, "command 1 (script.c:1): send "));
        CU_ASSERT_PTR_NOT_NULL(strstr(rig.error.text, "must be a pure function of its launch"));
        rig_fini(&rig);
    }
}

CHECK_MAIN("machine/ipcq", CHECK_TEST(test_one_copy), CHECK_TEST(test_late_receiver),
           CHECK_TEST(test_back_pressure), CHECK_TEST(test_queue_of_sends),
           CHECK_TEST(test_fragments), CHECK_TEST(test_messages_in_order),
           CHECK_TEST(test_queues_block_only_themselves), CHECK_TEST(test_mismatches),
           CHECK_TEST(test_send_without_recv), CHECK_TEST(test_waits),
           CHECK_TEST(test_stuck_transfers), CHECK_TEST(test_many_posted),
           CHECK_TEST(test_many_stuck), CHECK_TEST(test_not_foreseen))
