/* What a CUBE promises before its programs run: exact where nothing else is in the way, for ever
 * when nothing leaves unless something comes. tests/unit/hw/test_random.c holds promises against
 * what then happens. */
#include "../check.h"
#include "rig.h"

enum { BYTES = 64, COPY_PS = 7000, ISSUE_PS = 300 };

static void open_rig(struct rig *rig)
{
    struct machine_params params = rig_params(2, 1);
    params.ipcq.copy_ps[LEVEL_CUBE] = COPY_PS;
    for (int op = 0; op < OP_COUNT; op++)
        params.cpu.issue_ps[op] = ISSUE_PS;
    rig_init(rig, &params);
}

/* Of CUBE 0, at the start. */
static uint64_t promise(struct rig *rig)
{
    rig_start(rig);
    struct lp *lp = engine_lp(rig->engine, 0);
    return lp->model->promise(lp, queue_next_time(&lp->queue));
}

/* A copy arrives after issue, copy, its way out of scratch and over the link; what a promise may
 * not know is the picosecond that a server carries. */
static void test_send(void)
{
    struct rig rig;
    open_rig(&rig);
    rig_add(&rig, 0, 3, make_send(QUEUE_CUBE_E, 0, BYTES));
    rig_add(&rig, 1, 3, make_recv(OP_RECV, QUEUE_CUBE_W, 0, BYTES));
    uint64_t arrival = ISSUE_PS + COPY_PS + BYTES + BYTES + rig.params.link[LEVEL_CUBE].latency_ps;
    EQUAL(promise(&rig), arrival - 1);
    EQUAL(rig_run(&rig), ENGINE_DONE);
    EQUAL(rig_record(&rig, 1, 3, 1)->start_ps, arrival);
    rig_fini(&rig);
}

/* The work before a send counts: here a MATH command that blocks. */
static void test_work_before(void)
{
    struct rig rig;
    open_rig(&rig);
    rig_add(&rig, 0, 3, make_send(QUEUE_CUBE_E, 0, BYTES));
    uint64_t alone = promise(&rig);
    rig_fini(&rig);
    open_rig(&rig);
    rig_add(&rig, 0, 3, make_math(MATH_EXP, bytes_at(0, 4096), bytes_at(0, 4096)));
    rig_add(&rig, 0, 3, make_send(QUEUE_CUBE_E, 8192, BYTES));
    uint64_t cycles = 4096 / 4 / rig.params.math.lanes * rig.params.math.exp_cycles;
    EQUAL(promise(&rig), alone + ISSUE_PS + cycles - 1);
    rig_fini(&rig);
}

/* Nothing leaves before a message comes that has not been sent. */
static void test_waits(void)
{
    struct rig rig;
    open_rig(&rig);
    rig_add(&rig, 0, 3, make_recv(OP_RECV, QUEUE_CUBE_E, 0, BYTES));
    rig_add(&rig, 0, 3, make_send(QUEUE_CUBE_E, 0, BYTES));
    EQUAL(promise(&rig), TIME_NEVER);
    rig_fini(&rig);
    open_rig(&rig);
    rig_add(&rig, 0, 3, make_recv(OP_RECV_ASYNC, QUEUE_CUBE_E, 0, BYTES));
    EQUAL(promise(&rig), TIME_NEVER);
    rig_fini(&rig);
}

/* However many messages go to and fro inside the CUBE, once nothing more is to leave. */
static void test_inside_only(void)
{
    struct rig rig;
    open_rig(&rig);
    for (uint64_t i = 0; i < 100; i++) {
        rig_add(&rig, 0, 0, make_send(QUEUE_PE_W, 0, BYTES));
        rig_add(&rig, 0, 2, make_recv(OP_RECV, QUEUE_PE_E, 0, BYTES));
    }
    EQUAL(promise(&rig), TIME_NEVER);
    rig_fini(&rig);
}

/* A PE that waits for another one's message sends no earlier than that one lets it. */
static void test_chain_inside(void)
{
    struct rig rig;
    open_rig(&rig);
    rig_add(&rig, 0, 0, make_math(MATH_EXP, bytes_at(0, 1 << 16), bytes_at(0, 1 << 16)));
    rig_add(&rig, 0, 0, make_send(QUEUE_PE_W, 0, BYTES));
    rig_add(&rig, 0, 2, make_recv(OP_RECV, QUEUE_PE_E, 0, BYTES));
    rig_add(&rig, 0, 2, make_send(QUEUE_CUBE_E, 0, BYTES));
    rig_add(&rig, 1, 2, make_recv(OP_RECV, QUEUE_CUBE_W, 0, BYTES));
    uint64_t promised = promise(&rig);
    EQUAL(rig_run(&rig), ENGINE_DONE);
    uint64_t arrival = rig_record(&rig, 1, 2, 1)->start_ps;
    CU_ASSERT_TRUE(promised <= arrival);
    CU_ASSERT_TRUE(promised + 10 > arrival); /* but for a picosecond per server on the way */
    rig_fini(&rig);
}

CHECK_MAIN("machine/promise", CHECK_TEST(test_send), CHECK_TEST(test_work_before),
           CHECK_TEST(test_waits), CHECK_TEST(test_inside_only), CHECK_TEST(test_chain_inside))
