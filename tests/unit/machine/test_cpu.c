/* The CPU: issue costs, blocking, and the stalls on operands and full queues. */
#include "../check.h"
#include "rig.h"

enum { COST = 10 };

/* MATH takes 100 cycles for 100 * 128 elements; a byte takes 8 ps from or to the own share. */
static void open_rig(struct rig *rig)
{
    struct machine_params params = rig_params(1, 1);
    for (int op = 0; op < OP_COUNT; op++)
        params.cpu.issue_ps[op] = COST + (uint64_t)op;
    params.hbm.rate = (struct rate){1, 1}; /* of the stack: 8 ps a byte from a share */
    rig_init(rig, &params);
}

static uint64_t cost(enum op op)
{
    return COST + (uint64_t)op;
}

static struct command math_over(uint64_t out, uint64_t a, uint32_t vectors)
{
    return make_math(MATH_ADD, scratch_at(out, 1, 128 * vectors, DTYPE_F32),
                     scratch_at(a, 1, 128 * vectors, DTYPE_F32));
}

/* Commands that touch nothing in common are issued one after another, each at its cost. */
static void test_issue_costs(void)
{
    struct rig rig;
    open_rig(&rig);
    struct operand b = scratch_at(0x40000, 64, 32, DTYPE_BF16);
    rig_add(&rig, 0, 0, make_load(0, 0, 0x1000, 64));
    rig_add(&rig, 0, 0, make_store(0, 4096, 0x2000, 64));
    rig_add(&rig, 0, 0, make_gemm(OP_COMPOSITE, 8, b, EPILOGUE_NONE));
    rig_add(&rig, 0, 0, make_send(QUEUE_PE_W, 0x3000, 64));
    rig_add(&rig, 0, 0, make_recv(OP_RECV_ASYNC, QUEUE_PE_W, 0x4000, 64));
    rig_add(&rig, 0, 0, make_wait(bytes_at(0x5000, 64)));
    rig_add(&rig, 0, 0, math_over(0x6000, 0x7000, 1));
    rig_add(&rig, 0, 2, make_recv(OP_RECV, QUEUE_PE_E, 0, 64));
    rig_add(&rig, 0, 2, make_send(QUEUE_PE_E, 0, 64));
    RUN_CLEAN(&rig);
    static const enum op order[] = {OP_LOAD,       OP_STORE, OP_COMPOSITE, OP_SEND,
                                    OP_RECV_ASYNC, OP_WAIT,  OP_MATH};
    uint64_t at = 0;
    for (uint64_t i = 0; i < 7; i++) {
        EQUAL(rig_issue(&rig, 0, 0, i + 1), at);
        at += cost(order[i]);
    }
    EQUAL(rig_end(&rig, 0, 0, 6), rig_issue(&rig, 0, 0, 6) + cost(OP_WAIT));
    EQUAL(rig_pe(&rig, 0, 0).busy_ps[ENGINE_CPU], at);
    EQUAL(rig_pe(&rig, 0, 0).cpu.commands, 7);
    EQUAL(rig_pe(&rig, 0, 0).cpu.first_issue_ps, 0);
    rig_fini(&rig);
}

/* MATH, dot and recv hold the CPU until they end; the engine starts after the issue. */
static void test_blocking(void)
{
    struct rig rig;
    open_rig(&rig);
    struct operand b = scratch_at(0x40000, 64, 32, DTYPE_BF16);
    rig_add(&rig, 0, 0, math_over(0x1000, 0x2000, 16));
    rig_add(&rig, 0, 0, make_gemm(OP_DOT, 32, b, EPILOGUE_NONE));
    rig_add(&rig, 0, 0, math_over(0x1000, 0x2000, 1));
    RUN_CLEAN(&rig);
    EQUAL(rig_end(&rig, 0, 0, 1), cost(OP_MATH) + 16);
    EQUAL(rig_issue(&rig, 0, 0, 2), rig_end(&rig, 0, 0, 1));
    uint64_t step = 32 * 64 * 32 / 65536, out = 32 * 32 * 4;
    EQUAL(rig_end(&rig, 0, 0, 2), rig_issue(&rig, 0, 0, 2) + cost(OP_DOT) + step + out);
    EQUAL(rig_issue(&rig, 0, 0, 3), rig_end(&rig, 0, 0, 2));
    rig_fini(&rig);
}

/* What a second command needs of a load of 1024 bytes to 0x1000 (or a store from there). */
struct hazard {
    const char *name;
    struct command first, second;
    bool waits;
};

static void check_hazard(const struct hazard *hazard)
{
    struct rig rig;
    open_rig(&rig);
    rig_add(&rig, 0, 0, hazard->first);
    rig_add(&rig, 0, 0, hazard->second);
    RUN_CLEAN(&rig);
    uint64_t first = cost((enum op)hazard->first.op);
    uint64_t wanted = hazard->waits ? rig_end(&rig, 0, 0, 1) : first;
    if (rig_issue(&rig, 0, 0, 2) != wanted)
        fprintf(stderr, "\n  %s\n", hazard->name);
    EQUAL(rig_issue(&rig, 0, 0, 2), wanted);
    CU_ASSERT_TRUE(rig_end(&rig, 0, 0, 1) > first);
    const struct trace_record *second = rig_record(&rig, 0, 0, 2);
    EQUAL(second->cause, hazard->waits ? CAUSE_OPERAND : CAUSE_PROGRAM);
    EQUAL(second->cause_command, 1);
    rig_fini(&rig);
}

static void test_hazards(void)
{
    struct command load = make_load(0, 0, 0x1000, 1024), store = make_store(0, 0, 0x1000, 1024);
    struct command merge =
        make_gemm(OP_COMPOSITE, 8, hbm_at(0, 0x10000, 64, 512, DTYPE_BF16), EPILOGUE_SOFTMAX_MERGE);
    merge.state[0] = bytes_at(0x1000, 32);
    struct operand in = bytes_at(0x1000, 1024), apart = bytes_at(0x9000, 1024);
    struct hazard hazards[] = {
        {"read after write", load, make_math(MATH_ADD, apart, in), true},
        {"read of the last byte", load, make_math(MATH_ADD, apart, bytes_at(0x13fc, 4)), true},
        {"read just behind", load, make_math(MATH_ADD, apart, bytes_at(0x1400, 4)), false},
        {"read just before", load, make_math(MATH_ADD, apart, bytes_at(0xffc, 4)), false},
        {"write after write", load, make_math(MATH_ADD, in, apart), true},
        {"write after read", store, make_math(MATH_ADD, in, apart), true},
        {"read after read", store, make_math(MATH_ADD, apart, in), false},
        {"write after write in HBM", store, make_store(0, 1020, 0x9000, 4), true},
        {"read after write in HBM", store, make_load(0, 0, 0x9000, 4), true},
        {"another share", store, make_load(1, 0, 0x9000, 4), false},
        {"scratch is not HBM", store, make_load(0, 0x1000, 0x9000, 4), false},
        {"wait for a write", load, make_wait(bytes_at(0x1200, 4)), true},
        {"wait for a read", store, make_wait(bytes_at(0x1200, 4)), true},
        {"wait for nothing", load, make_wait(bytes_at(0x1400, 4)), false},
        {"the state is written", merge, make_math(MATH_ADD, apart, bytes_at(0x1010, 4)), true},
        {"the streamed operand is read", merge, make_store(0, 0x10000, 0x9000, 4), true},
    };
    for (size_t i = 0; i < sizeof hazards / sizeof *hazards; i++)
        check_hazard(&hazards[i]);
}

/* A send's buffer is busy until the copy ends, a recv's until the message is there. */
static void test_messages_are_hazards(void)
{
    struct rig rig;
    open_rig(&rig);
    rig_add(&rig, 0, 0, make_send(QUEUE_PE_W, 0x1000, 512));
    rig_add(&rig, 0, 0, math_over(0x1000, 0x4000, 1));
    rig_add(&rig, 0, 2, make_recv(OP_RECV_ASYNC, QUEUE_PE_E, 0x1000, 512));
    rig_add(&rig, 0, 2, math_over(0x4000, 0x1000, 1));
    RUN_CLEAN(&rig);
    EQUAL(rig_end(&rig, 0, 0, 1), cost(OP_SEND) + 512);
    EQUAL(rig_issue(&rig, 0, 0, 2), rig_end(&rig, 0, 0, 1));
    uint64_t arrives = rig_end(&rig, 0, 0, 1) + 512 + 100;
    EQUAL(rig_end(&rig, 0, 2, 1), arrives + 512);
    EQUAL(rig_issue(&rig, 0, 2, 2), rig_end(&rig, 0, 2, 1));
    rig_fini(&rig);
}

/* With a queue of `n` transfers (composites) the next one waits for the first to end. */
static void test_full_queues(void)
{
    for (uint64_t n = 1; n <= 8; n++) {
        struct rig rig;
        open_rig(&rig);
        rig.params.dma.queue_commands = n;
        for (uint64_t i = 0; i <= n; i++)
            rig_add(&rig, 0, 0, make_load(0, 0, 0x1000 + 1024 * i, 1024));
        RUN_CLEAN(&rig);
        for (uint64_t i = 0; i < n; i++)
            EQUAL(rig_issue(&rig, 0, 0, i + 1), i * cost(OP_LOAD));
        EQUAL(rig_issue(&rig, 0, 0, n + 1), rig_end(&rig, 0, 0, 1));
        const struct trace_record *last = rig_record(&rig, 0, 0, n + 1);
        EQUAL(last->cause, CAUSE_QUEUE);
        EQUAL(last->cause_command, 1);
        rig_fini(&rig);
    }
}

static void test_full_scheduler(void)
{
    struct rig rig;
    open_rig(&rig);
    rig.params.sched.queue_commands = 2;
    for (uint64_t i = 0; i < 3; i++) {
        struct command gemm =
            make_gemm(OP_COMPOSITE, 8, hbm_at(0, i << 16, 64, 32, DTYPE_BF16), EPILOGUE_NONE);
        gemm.out.addr += i << 16;
        rig_add(&rig, 0, 0, gemm);
    }
    RUN_CLEAN(&rig);
    EQUAL(rig_issue(&rig, 0, 0, 2), cost(OP_COMPOSITE));
    EQUAL(rig_issue(&rig, 0, 0, 3), rig_end(&rig, 0, 0, 1));
    rig_fini(&rig);
}

/* Only the queue's own limit holds up the CPU, however many commands are in flight. */
static void test_many_in_flight(void)
{
    struct rig rig;
    open_rig(&rig);
    rig.params.dma.queue_commands = 1024;
    for (uint64_t i = 0; i < 200; i++)
        rig_add(&rig, 0, 0, make_load(0, 0, 0x1000 + 1024 * i, 1024));
    RUN_CLEAN(&rig);
    EQUAL(rig_issue(&rig, 0, 0, 200), 199 * cost(OP_LOAD));
    EQUAL(rig_end(&rig, 0, 0, 200), cost(OP_LOAD) + 200 * 1024 * 8);
    rig_fini(&rig);
}

/* A PE without commands ends at once; one without a program does nothing. */
static void test_empty(void)
{
    struct rig rig;
    open_rig(&rig);
    rig.programs[3] = &script_new()->base;
    RUN_CLEAN(&rig);
    EQUAL(rig_pe(&rig, 0, 3).cpu.commands, 0);
    EQUAL(rig_pe(&rig, 0, 3).cpu.first_issue_ps, TIME_NEVER);
    EQUAL(rig_cube(&rig, 0).events, 1);
    rig_fini(&rig);
}

CHECK_MAIN("machine/cpu", CHECK_TEST(test_issue_costs), CHECK_TEST(test_blocking),
           CHECK_TEST(test_hazards), CHECK_TEST(test_messages_are_hazards),
           CHECK_TEST(test_full_queues), CHECK_TEST(test_full_scheduler),
           CHECK_TEST(test_many_in_flight), CHECK_TEST(test_empty))
