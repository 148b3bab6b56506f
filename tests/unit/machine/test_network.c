/* Links and routers: hops, contention, forwarding between CUBEs on mesh and torus, IO dies. */
#include "../check.h"
#include "rig.h"

enum { BYTES = 1024, LATENCY_CUBE = 1000, LATENCY_SIP = 10000 };

/* When the message is in scratch at the other end: copied at 1 ps a byte, over the links, drained.
 */
static uint64_t flight(uint64_t hops, uint64_t sip_hops)
{
    return BYTES + hops * (BYTES + LATENCY_CUBE) + sip_hops * (BYTES + LATENCY_SIP) + BYTES;
}

static uint64_t total_packets(const struct rig *rig, uint32_t first, uint32_t end)
{
    uint64_t packets = 0;
    for (uint32_t cube = 0; cube < rig->cubes_count; cube++)
        for (uint32_t link = first; link < end; link++)
            packets += rig_cube(rig, cube).links.packets[link];
    return packets;
}

static void check_neighbour(bool torus, uint32_t cube, enum direction direction)
{
    struct rig rig;
    struct machine_params params = rig_params(4, 4);
    uint32_t other;
    params.geometry.cube_torus = torus;
    if (!cube_neighbour(&params.geometry, cube, direction, &other))
        return;
    rig_init(&rig, &params);
    rig_add(&rig, cube, 5, make_send(queue_at(LEVEL_CUBE, direction), 0, BYTES));
    rig_add(&rig, other, 5,
            make_recv(OP_RECV, queue_at(LEVEL_CUBE, direction_opposite(direction)), 0, BYTES));
    RUN_CLEAN(&rig);
    EQUAL(rig_end(&rig, other, 5, 1), flight(1, 0));
    EQUAL(rig_end(&rig, cube, 5, 1), BYTES); /* the sender does not pay for the link */
    EQUAL(rig_cube(&rig, cube).links.bytes[direction], BYTES);
    EQUAL(rig_cube(&rig, cube).links.busy_ps[direction], BYTES);
    EQUAL(rig_cube(&rig, other).links.bytes[direction_opposite(direction)], 16); /* the credit */
    EQUAL(total_packets(&rig, 0, 2 * DIRECTIONS), 2);
    rig_fini(&rig);
}

/* Every queue of every CUBE is one hop long, over a wrap link, too. */
static void test_neighbours(void)
{
    for (int torus = 0; torus <= 1; torus++)
        for (uint32_t cube = 0; cube < 16; cube++)
            for (int d = 0; d < DIRECTIONS; d++)
                check_neighbour(torus, cube, (enum direction)d);
}

/* Rings of two CUBEs have two links between the same two. */
static void test_torus_of_two(void)
{
    struct rig rig;
    struct machine_params params = rig_params(2, 1);
    params.geometry.cube_torus = true;
    rig_init(&rig, &params);
    for (int d = DIR_E; d <= DIR_W; d++) {
        rig_add(&rig, 0, (uint32_t)d, make_send(queue_at(LEVEL_CUBE, (enum direction)d), 0, BYTES));
        rig_add(&rig, 1, (uint32_t)d,
                make_recv(OP_RECV, queue_at(LEVEL_CUBE, direction_opposite((enum direction)d)), 0,
                          BYTES));
    }
    RUN_CLEAN(&rig);
    EQUAL(total_packets(&rig, 0, DIRECTIONS), 4);
    rig_fini(&rig);
}

static uint64_t hops_to_die(const struct geometry *geometry, uint32_t cube)
{
    struct position at = cube_position(geometry, cube);
    if (!geometry->cube_torus)
        return at.x + at.y;
    uint32_t x = geometry->cubes.columns - at.x, y = geometry->cubes.rows - at.y;
    return (at.x < x ? at.x : x) + (at.y < y ? at.y : y);
}

/* From a CUBE to the one of equal index in the next SIP: to the IO die, over, and on. */
static void check_other_sip(bool torus, uint32_t cube)
{
    struct rig rig;
    struct machine_params params = rig_params(4, 3);
    params.geometry.sips = (struct grid){2, 1};
    params.geometry.cube_torus = torus;
    params.ipcq.copy_ps[LEVEL_SIP] = 77;
    rig_init(&rig, &params);
    rig_add(&rig, cube, 2, make_send(QUEUE_SIP_E, 0, BYTES));
    rig_add(&rig, 12 + cube, 2, make_recv(OP_RECV, QUEUE_SIP_W, 0, BYTES));
    RUN_CLEAN(&rig);
    uint64_t hops = hops_to_die(&params.geometry, cube);
    EQUAL(rig_end(&rig, 12 + cube, 2, 1), 77 + flight(2 * hops, 1));
    EQUAL(rig_end(&rig, cube, 2, 1), 77 + BYTES);
    EQUAL(total_packets(&rig, 0, DIRECTIONS), 4 * hops); /* message and credit */
    EQUAL(total_packets(&rig, DIRECTIONS, 2 * DIRECTIONS), 2);
    EQUAL(rig_cube(&rig, 0).links.bytes[DIRECTIONS + DIR_E], BYTES);
    EQUAL(rig_cube(&rig, 12).links.bytes[DIRECTIONS + DIR_W], 16);
    rig_fini(&rig);
}

static void test_other_sips(void)
{
    for (int torus = 0; torus <= 1; torus++)
        for (uint32_t cube = 0; cube < 12; cube++)
            check_other_sip(torus, cube);
}

/* The PEs of a CUBE that send over one link are served in turn, in the order of their units. */
static void test_contention(void)
{
    struct rig rig;
    struct machine_params params = rig_params(2, 1);
    rig_init(&rig, &params);
    for (uint32_t pe = 0; pe < 8; pe++) {
        rig_add(&rig, 0, pe, make_send(QUEUE_CUBE_E, 0, BYTES));
        rig_add(&rig, 1, pe, make_recv(OP_RECV, QUEUE_CUBE_W, 0, BYTES));
    }
    RUN_CLEAN(&rig);
    for (uint32_t pe = 0; pe < 8; pe++) {
        EQUAL(rig_end(&rig, 0, pe, 1), BYTES);
        EQUAL(rig_end(&rig, 1, pe, 1), flight(1, 0) + (uint64_t)pe * BYTES);
    }
    struct cube_result cube = rig_cube(&rig, 0);
    EQUAL(cube.links.wait_max_ps[DIR_E], 7 * BYTES);
    EQUAL(cube.links.busy_ps[DIR_E], 8 * BYTES);
    EQUAL(cube.links.packets[DIR_E], 8);
    rig_fini(&rig);
}

/* First come, first served, whatever the units: PE 7's copy is ready earlier. */
static void test_first_come(void)
{
    struct rig rig;
    struct machine_params params = rig_params(2, 1);
    params.cpu.issue_ps[OP_WAIT] = 10;
    rig_init(&rig, &params);
    rig_add(&rig, 0, 0, make_wait(bytes_at(0x8000, 4)));
    rig_add(&rig, 0, 0, make_send(QUEUE_CUBE_E, 0, BYTES));
    rig_add(&rig, 0, 7, make_send(QUEUE_CUBE_E, 0, BYTES));
    rig_add(&rig, 1, 0, make_recv(OP_RECV, QUEUE_CUBE_W, 0, BYTES));
    rig_add(&rig, 1, 7, make_recv(OP_RECV, QUEUE_CUBE_W, 0, BYTES));
    RUN_CLEAN(&rig);
    EQUAL(rig_end(&rig, 1, 7, 1), flight(1, 0));
    EQUAL(rig_end(&rig, 1, 0, 1), flight(1, 0) + BYTES);
    EQUAL(rig_cube(&rig, 0).links.wait_max_ps[DIR_E], BYTES - 10);
    rig_fini(&rig);
}

/* Packets that are forwarded contend with those that start here: the link from CUBE 1 to 0. */
static void test_forwarding_contends(void)
{
    struct rig rig;
    struct machine_params params = rig_params(3, 1);
    params.geometry.sips = (struct grid){1, 2};
    params.cpu.issue_ps[OP_WAIT] = BYTES + LATENCY_CUBE; /* CUBE 1 sends when 2's packet comes */
    rig_init(&rig, &params);
    rig_add(&rig, 2, 0, make_send(QUEUE_SIP_S, 0, BYTES));
    rig_add(&rig, 5, 0, make_recv(OP_RECV, QUEUE_SIP_N, 0, BYTES));
    rig_add(&rig, 1, 4, make_wait(bytes_at(0x8000, 4)));
    rig_add(&rig, 1, 4, make_send(QUEUE_CUBE_W, 0, BYTES));
    rig_add(&rig, 0, 4, make_recv(OP_RECV, QUEUE_CUBE_E, 0, BYTES));
    RUN_CLEAN(&rig);
    uint64_t through = rig_end(&rig, 5, 0, 1), own = rig_end(&rig, 0, 4, 1);
    uint64_t alone_through = flight(4, 1), alone_own = BYTES + LATENCY_CUBE + flight(1, 0);
    EQUAL(through + own, alone_through + alone_own + BYTES); /* one of them waited */
    CU_ASSERT_TRUE(through >= alone_through && own >= alone_own);
    EQUAL(rig_cube(&rig, 1).links.bytes[DIR_W], 2 * BYTES);
    rig_fini(&rig);
}

/* Latency delays the arrival once, not the link: n messages follow each other at its rate. */
static void test_latency_is_not_occupancy(void)
{
    for (uint64_t latency = 1; latency <= 1000000; latency *= 1000) {
        struct rig rig;
        struct machine_params params = rig_params(2, 1);
        params.link[LEVEL_CUBE] = (struct link_params){{4, 1}, latency};
        params.ipcq.slots = params.ipcq.queue_commands = 16;
        rig_init(&rig, &params);
        for (uint64_t i = 0; i < 16; i++) {
            rig_add(&rig, 0, 0, make_send(QUEUE_CUBE_E, BYTES * i, BYTES));
            rig_add(&rig, 1, 0, make_recv(OP_RECV_ASYNC, QUEUE_CUBE_W, BYTES * i, BYTES));
        }
        RUN_CLEAN(&rig);
        for (uint64_t i = 0; i < 16; i++) {
            EQUAL(rig_end(&rig, 0, 0, i + 1), BYTES * (i + 1));
            EQUAL(rig_end(&rig, 1, 0, i + 1), BYTES + 4 * BYTES * (i + 1) + latency + BYTES);
        }
        EQUAL(rig_cube(&rig, 0).links.busy_ps[DIR_E], 16 * 4 * BYTES);
        rig_fini(&rig);
    }
}

/* Back-to-back packets of a rate that is no whole number of picoseconds. */
static void test_links_carry_fractions(void)
{
    struct rig rig;
    struct machine_params params = rig_params(2, 1);
    params.link[LEVEL_CUBE] = (struct link_params){{1000, 256}, 1};
    params.ipcq.slots = params.ipcq.queue_commands = 16;
    rig_init(&rig, &params);
    for (uint64_t i = 0; i < 16; i++) {
        rig_add(&rig, 0, 0, make_send(QUEUE_CUBE_E, 1024 * i, 100));
        rig_add(&rig, 1, 0, make_recv(OP_RECV_ASYNC, QUEUE_CUBE_W, 1024 * i, 100));
    }
    RUN_CLEAN(&rig);
    uint64_t all = ceil_rate((struct rate){1000, 256}, 1600);
    EQUAL(rig_end(&rig, 1, 0, 16), 100 + all + 1 + 100);
    EQUAL(rig_cube(&rig, 0).links.busy_ps[DIR_E], all);
    rig_fini(&rig);
}

CHECK_MAIN("machine/network", CHECK_TEST(test_neighbours), CHECK_TEST(test_torus_of_two),
           CHECK_TEST(test_other_sips), CHECK_TEST(test_contention), CHECK_TEST(test_first_come),
           CHECK_TEST(test_forwarding_contends), CHECK_TEST(test_latency_is_not_occupancy),
           CHECK_TEST(test_links_carry_fractions))
