/* The report of a run that came to rest before its programs did. MPI runs with one process. */
#include "../check.h"
#include "../machine/rig.h"
#include "study/deadlock.h"

/* MPI's own leaks are not ours to find. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static struct rig rig;

static void open_rig(uint32_t columns, uint32_t slots)
{
    struct machine_params params = rig_params(columns, 1);
    params.ipcq.slots = slots;
    rig_init(&rig, &params);
}

/* Runs, and expects these words; NULL: none. */
static void expect(const char *text)
{
    struct comm comm = comm_of(MPI_COMM_WORLD);
    struct error err = {ERROR_NONE, ""};
    EQUAL(rig_run(&rig), ENGINE_DONE);
    bool clean = deadlock_check(&comm, "test", rig.cubes, rig.cubes_count, rig.pes, &err);
    CU_ASSERT_EQUAL(clean, text == NULL);
    EQUAL(err.code, text == NULL ? ERROR_NONE : ERROR_FAILED);
    if (text != NULL && strcmp(err.text, text) != 0)
        fprintf(stderr, "\n  got    %s\n  wanted %s\n", err.text, text);
    CU_ASSERT_STRING_EQUAL(err.text, text == NULL ? "" : text);
    rig_fini(&rig);
}

static void test_clean(void)
{
    open_rig(2, 4);
    rig_add(&rig, 0, 0, make_send(QUEUE_CUBE_E, 0, 64));
    rig_add(&rig, 1, 0, make_recv(OP_RECV, QUEUE_CUBE_W, 0, 64));
    expect(NULL);
    open_rig(2, 4); /* nothing ran */
    expect(NULL);
}

static void test_cycle_of_two(void)
{
    open_rig(2, 4);
    rig_add(&rig, 0, 3, make_recv(OP_RECV, QUEUE_CUBE_E, 0, 64));
    rig_add(&rig, 0, 3, make_send(QUEUE_CUBE_E, 0, 64));
    rig_add(&rig, 1, 3, make_recv(OP_RECV, QUEUE_CUBE_W, 0, 64));
    rig_add(&rig, 1, 3, make_send(QUEUE_CUBE_W, 0, 64));
    expect("deadlock in kernel test: nothing is left to happen and 2 PEs are not at the end of "
           "their programs: CUBE 0 PE 3 waits at command 1 (recv cube.E, script.c:1); CUBE 1 PE 3 "
           "waits at command 1 (recv cube.W, script.c:1); which closes the cycle");
}

/* PEs 1, 3, 2, 0 stand in a square; PE 4 waits for one of them and is not part of the cycle. */
static void test_cycle_of_four(void)
{
    open_rig(1, 4);
    rig_add(&rig, 0, 4, make_recv(OP_RECV, QUEUE_PE_E, 0, 64));
    rig_add(&rig, 0, 0, make_recv(OP_RECV, QUEUE_PE_N, 0, 64)); /* from 1 */
    rig_add(&rig, 0, 1, make_recv(OP_RECV, QUEUE_PE_W, 0, 64)); /* from 3 */
    rig_add(&rig, 0, 3, make_recv(OP_RECV, QUEUE_PE_S, 0, 64)); /* from 2 */
    rig_add(&rig, 0, 2, make_recv(OP_RECV, QUEUE_PE_E, 0, 64)); /* from 0 */
    uint32_t east_of_4 = 0;
    CU_ASSERT_TRUE(pe_neighbour(&rig.params.geometry, 4, DIR_E, &east_of_4));
    struct comm comm = comm_of(MPI_COMM_WORLD);
    struct error err = {ERROR_NONE, ""};
    EQUAL(rig_run(&rig), ENGINE_DONE);
    CU_ASSERT_FALSE(deadlock_check(&comm, "test", rig.cubes, 1, rig.pes, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "5 PEs are not at the end"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "which closes the cycle"));
    CU_ASSERT_PTR_NULL(strstr(err.text, "PE 4 "));
    static const char *const members[] = {"PE 0 waits", "PE 1 waits", "PE 2 waits", "PE 3 waits"};
    for (int i = 0; i < 4; i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, members[i]));
    rig_fini(&rig);
}

static void test_recv_without_send(void)
{
    open_rig(2, 4);
    rig_add(&rig, 1, 2, make_recv(OP_RECV, QUEUE_CUBE_W, 0, 64));
    expect("deadlock in kernel test: nothing is left to happen and 1 PEs are not at the end of "
           "their programs: CUBE 1 PE 2 waits at command 1 (recv cube.W, script.c:1), for a PE "
           "that has ended");
}

/* Back-pressure that never ends is a deadlock; what fits into the slots is a message left over. */
static void test_send_without_recv(void)
{
    open_rig(2, 2);
    for (int i = 0; i < 3; i++)
        rig_add(&rig, 0, 0, make_send(QUEUE_CUBE_E, 0, 64));
    expect("deadlock in kernel test: nothing is left to happen and 1 PEs are not at the end of "
           "their programs: CUBE 0 PE 0 has ended, but its command 3 (send cube.E, script.c:3) has "
           "not, for a PE that has ended");
    open_rig(2, 2);
    for (int i = 0; i < 2; i++)
        rig_add(&rig, 0, 0, make_send(QUEUE_CUBE_E, 0, 64));
    expect("a send without its recv: command 1 of CUBE 0 PE 0 sent [1, 16] f32 to queue cube.W of "
           "CUBE 1 PE 0, which never took it");
}

/* A chain of waits as long as the machine: the report stays one line of bounded length. */
static void test_long_chain(void)
{
    open_rig(16, 4);
    for (uint32_t cube = 0; cube < 16; cube++)
        rig_add(&rig, cube, 0, make_recv(OP_RECV, cube < 15 ? QUEUE_CUBE_E : QUEUE_CUBE_W, 0, 64));
    struct comm comm = comm_of(MPI_COMM_WORLD);
    struct error err = {ERROR_NONE, ""};
    EQUAL(rig_run(&rig), ENGINE_DONE);
    CU_ASSERT_FALSE(deadlock_check(&comm, "test", rig.cubes, 16, rig.pes, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "16 PEs are not at the end"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "CUBE 14 PE 0 waits"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "which closes the cycle"));
    CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
    rig_fini(&rig);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        CHECK_TEST(test_clean),
        CHECK_TEST(test_cycle_of_two),
        CHECK_TEST(test_cycle_of_four),
        CHECK_TEST(test_recv_without_send),
        CHECK_TEST(test_send_without_recv),
        CHECK_TEST(test_long_chain),
        CU_TEST_INFO_NULL,
    };
    MPI_Init(&argc, &argv);
    int status = check_run("study/deadlock", tests);
    MPI_Finalize();
    return status;
}
