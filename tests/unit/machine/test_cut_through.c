/* Links that cut through, and the PE mesh with virtual channels: a packet alone takes what the
 * closed form says, at every level, on mesh and torus; random traffic that fills every buffer
 * arrives, each packet once and none before its time, whatever the buffers. */
#include "../check.h"
#include "machine/machine.h"
#include "rig.h"

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return hash_finish(*state) % below;
}

/* ---- the test's own arithmetic ---- */

static uint32_t ring_distance(uint32_t from, uint32_t to, uint32_t size, bool torus)
{
    uint32_t plain = from < to ? to - from : from - to;
    return torus && size - plain < plain ? size - plain : plain;
}

static uint32_t distance(struct grid grid, bool torus, struct position a, struct position b)
{
    return ring_distance(a.x, b.x, grid.columns, torus) + ring_distance(a.y, b.y, grid.rows, torus);
}

static uint64_t pieces(uint64_t whole, uint64_t piece)
{
    return whole / piece + (whole % piece != 0);
}

/* What whole flits of `bytes` take of a link. */
static uint64_t held_ps(const struct machine_params *params, int level, uint64_t bytes)
{
    uint64_t width = params->network.width_bytes[level];
    return ceil_rate(params->link[level].rate, pieces(bytes, width) * width);
}

static uint64_t hop(const struct machine_params *params, int level)
{
    return params->link[level].latency_ps + params->network.router_ps[level];
}

static struct machine_params some_network(uint64_t *state, uint32_t columns, uint32_t rows)
{
    struct machine_params params = rig_params(columns, rows);
    params.network.cut_through = true;
    params.network.virtual_channels = 2 + draw(state, 3);
    params.network.buffer_flits = 1 + draw(state, 12);
    for (int level = 0; level < LEVELS; level++) {
        params.network.width_bytes[level] = 1u << (2 + draw(state, 6));
        params.network.router_ps[level] = draw(state, 5000);
        params.link[level].latency_ps = 1 + draw(state, 9000);
        params.link[level].rate = (struct rate){1 + draw(state, 9), 1};
    }
    params.geometry.pe_torus = draw(state, 2);
    params.geometry.cube_torus = draw(state, 2);
    params.geometry.sip_torus = draw(state, 2);
    return params;
}

/* ---- between CUBEs ---- */

/* To the next SIP: latencies of all links once, and the packet's length on the slowest of them. */
static void test_other_sip(void)
{
    uint64_t state = 1;
    for (int i = 0; i < 200; i++) {
        struct machine_params params = some_network(&state, 4, 3);
        params.geometry.sips = (struct grid){2, 1};
        uint64_t bytes = 4 * (1 + draw(&state, 1000));
        uint32_t cube = (uint32_t)draw(&state, 12);
        uint32_t hops = distance(params.geometry.cubes, params.geometry.cube_torus,
                                 cube_position(&params.geometry, cube), (struct position){0, 0});
        struct rig rig;
        rig_init(&rig, &params);
        rig_add(&rig, cube, 2, make_send(QUEUE_SIP_E, 0, bytes));
        rig_add(&rig, 12 + cube, 2, make_recv(OP_RECV, QUEUE_SIP_W, 0, bytes));
        RUN_CLEAN(&rig);
        uint64_t length = held_ps(&params, LEVEL_SIP, bytes);
        if (hops > 0)
            length = time_max(length, held_ps(&params, LEVEL_CUBE, bytes));
        EQUAL(rig_end(&rig, 12 + cube, 2, 1), bytes + 2 * hops * hop(&params, LEVEL_CUBE) +
                                                  hop(&params, LEVEL_SIP) + length + bytes);
        rig_fini(&rig);
    }
}

/* The wrap link of a ring of SIPs is one hop. */
static void test_sip_torus(void)
{
    uint64_t state = 2;
    struct machine_params params = some_network(&state, 1, 1);
    params.geometry.sips = (struct grid){3, 1};
    params.geometry.sip_torus = true;
    struct rig rig;
    rig_init(&rig, &params);
    rig_add(&rig, 0, 0, make_send(QUEUE_SIP_W, 0, 64));
    rig_add(&rig, 2, 0, make_recv(OP_RECV, QUEUE_SIP_E, 0, 64));
    RUN_CLEAN(&rig);
    EQUAL(rig_end(&rig, 2, 0, 1),
          64 + hop(&params, LEVEL_SIP) + held_ps(&params, LEVEL_SIP, 64) + 64);
    rig_fini(&rig);
}

/* Eight packets at once for one link: those that wait are counted, in bytes. */
static void test_waiting_bytes(void)
{
    struct machine_params params = rig_params(2, 1);
    struct rig rig;
    rig_init(&rig, &params);
    for (uint32_t pe = 0; pe < 8; pe++) {
        rig_add(&rig, 0, pe, make_send(QUEUE_CUBE_E, 0, 1024));
        rig_add(&rig, 1, pe, make_recv(OP_RECV, QUEUE_CUBE_W, 0, 1024));
    }
    RUN_CLEAN(&rig);
    EQUAL(rig_cube(&rig, 0).links.waiting_max[DIR_E], 8 * 1024);
    rig_fini(&rig);
}

/* ---- the PE mesh ---- */

enum { PACKETS = 4000 };

/* Packets that a test sends, instead of those of DMA engines. */
static struct {
    const struct machine_params *params;
    struct {
        uint32_t from, to, bytes;
        uint64_t made, came;
    } packet[PACKETS];
    uint32_t sent, arrived;
} mesh;

static void make_packet(struct lp *lp, const struct event *event)
{
    uint32_t number = (uint32_t)dma_job_body(event)->addr;
    mesh.packet[number].made = lp->now;
    mesh.sent++;
    network_send(lp, event->dst, lp->now,
                 (struct packet){.destination = unit_of(0, mesh.packet[number].to, UNIT_DMA),
                                 .bytes = mesh.packet[number].bytes,
                                 .kind = PACKET_REPLY,
                                 .of.memory.addr = number});
}

static void take_packet(struct lp *lp, const struct event *event)
{
    uint32_t number = (uint32_t)dma_data_body(event)->addr;
    CU_ASSERT_EQUAL(mesh.packet[number].came, 0);
    CU_ASSERT_EQUAL(unit_pe(event->dst), mesh.packet[number].to);
    mesh.packet[number].came = lp->now;
    mesh.arrived++;
}

/* What a packet alone takes from one PE to another. */
static uint64_t alone(uint32_t number)
{
    const struct geometry *geometry = &mesh.params->geometry;
    uint32_t hops = distance(geometry->pes, geometry->pe_torus,
                             grid_position(geometry->pes, mesh.packet[number].from),
                             grid_position(geometry->pes, mesh.packet[number].to));
    return hops * hop(mesh.params, LEVEL_PE) +
           held_ps(mesh.params, LEVEL_PE, mesh.packet[number].bytes);
}

/* Bytes that all links of the mesh must have carried. */
static uint64_t bytes_by_links(uint32_t packets)
{
    const struct geometry *geometry = &mesh.params->geometry;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < packets; i++)
        bytes += (uint64_t)mesh.packet[i].bytes *
                 distance(geometry->pes, geometry->pe_torus,
                          grid_position(geometry->pes, mesh.packet[i].from),
                          grid_position(geometry->pes, mesh.packet[i].to));
    return bytes;
}

/* Sends `packets`, one every `pause`; 0: all at once. Returns the bytes on links. */
static uint64_t run_mesh(const struct machine_params *params, uint32_t packets, uint64_t pause)
{
    struct lp_model model = *cube_model();
    lp_handler *handlers[MESSAGES];
    struct rig rig;
    memcpy(handlers, model.handlers, sizeof handlers);
    handlers[MSG_DMA_JOB] = make_packet;
    handlers[MSG_DMA_DATA] = take_packet;
    model.handlers = handlers;
    mesh.params = params;
    mesh.sent = mesh.arrived = 0;
    rig_init(&rig, params);
    rig_start(&rig);
    struct lp *lp = engine_lp(rig.engine, 0);
    lp->model = &model;
    for (uint32_t i = 0; i < packets; i++) {
        uint32_t unit = unit_of(0, mesh.packet[i].from, UNIT_DMA);
        mesh.packet[i].came = 0;
        dma_job_send(lp, unit, unit, 1 + i * pause, (struct dma_job){.addr = i});
    }
    rig_run(&rig);
    EQUAL(mesh.arrived, packets);
    EQUAL(mesh.sent, packets);
    uint64_t bytes = 0;
    for (uint32_t pe = 0; pe < rig.pes; pe++)
        for (int d = 0; d < DIRECTIONS; d++)
            bytes += rig_pe(&rig, 0, pe).links.bytes[d];
    rig_fini(&rig);
    return bytes;
}

static void some_packets(uint64_t *state, const struct machine_params *params, uint32_t packets,
                         uint64_t bytes)
{
    uint32_t pes = grid_size(params->geometry.pes);
    for (uint32_t i = 0; i < packets; i++) {
        mesh.packet[i].from = (uint32_t)draw(state, pes);
        mesh.packet[i].to = (uint32_t)draw(state, pes);
        mesh.packet[i].bytes = (uint32_t)(1 + draw(state, bytes));
    }
}

static struct machine_params some_mesh(uint64_t *state)
{
    static const struct grid grids[] = {{4, 2}, {4, 4}, {5, 3}, {2, 2}, {8, 1}, {1, 3}, {3, 3}};
    struct machine_params params = some_network(state, 1, 1);
    params.geometry.pes = grids[draw(state, 7)];
    if (!params.geometry.pe_torus)
        params.network.virtual_channels = 1 + draw(state, 4);
    return params;
}

/* Packets far apart in time do not know of each other. */
static void test_zero_load(void)
{
    uint64_t state = 3, wrong = 0;
    for (int i = 0; i < 100; i++) {
        struct machine_params params = some_mesh(&state);
        uint64_t width = params.network.width_bytes[LEVEL_PE];
        /* Credits are back in time: no more flits than a buffer has. */
        some_packets(&state, &params, 50, width * params.network.buffer_flits);
        uint64_t bytes = run_mesh(&params, 50, 10000000);
        EQUAL(bytes, bytes_by_links(50));
        for (uint32_t k = 0; k < 50; k++)
            wrong += mesh.packet[k].came - mesh.packet[k].made != alone(k);
    }
    EQUAL(wrong, 0);
}

/* A buffer of 8 flits whose credits take 9 cycles: each further 8 flits cost a cycle more. */
static void test_credits_late(void)
{
    struct machine_params params = rig_params(1, 1);
    params.geometry.pes = (struct grid){4, 4};
    params.network = (struct network_params){.cut_through = true,
                                             .router_ps[LEVEL_PE] = 3000,
                                             .width_bytes = {16, 16, 16},
                                             .virtual_channels = 4,
                                             .buffer_flits = 8};
    params.link[LEVEL_PE] = (struct link_params){{1000, 16}, 2000};
    for (uint32_t to = 1; to < 16; to++) {
        mesh.packet[0].from = 0;
        mesh.packet[0].to = to;
        mesh.packet[0].bytes = 64 * 16;
        run_mesh(&params, 1, 0);
        EQUAL(mesh.packet[0].came - mesh.packet[0].made, alone(0) + 7000);
    }
}

/* All at once: every buffer fills, and all arrive. */
static void test_saturated(void)
{
    uint64_t state = 4, early = 0;
    for (int i = 0; i < 60; i++) {
        struct machine_params params = some_mesh(&state);
        uint64_t width = params.network.width_bytes[LEVEL_PE];
        uint32_t packets = 200 + (uint32_t)draw(&state, 600);
        some_packets(&state, &params, packets, width * (1 + draw(&state, 40)));
        uint64_t bytes = run_mesh(&params, packets, draw(&state, 2) * draw(&state, 3000));
        EQUAL(bytes, bytes_by_links(packets));
        for (uint32_t k = 0; k < packets; k++)
            early += mesh.packet[k].came - mesh.packet[k].made < alone(k);
    }
    EQUAL(early, 0);
}

/* Twice the bandwidth never makes a packet later that meets no other. */
static void test_faster(void)
{
    uint64_t state = 5, slower = 0;
    for (int i = 0; i < 50; i++) {
        uint64_t before[20];
        struct machine_params params = some_mesh(&state);
        some_packets(&state, &params, 20, 3000);
        run_mesh(&params, 20, 100000000);
        for (uint32_t k = 0; k < 20; k++)
            before[k] = mesh.packet[k].came - mesh.packet[k].made;
        params.link[LEVEL_PE].rate.den *= 2;
        run_mesh(&params, 20, 100000000);
        for (uint32_t k = 0; k < 20; k++)
            slower += mesh.packet[k].came - mesh.packet[k].made > before[k];
    }
    EQUAL(slower, 0);
}

CHECK_MAIN("machine/cut_through", CHECK_TEST(test_other_sip), CHECK_TEST(test_sip_torus),
           CHECK_TEST(test_waiting_bytes), CHECK_TEST(test_zero_load),
           CHECK_TEST(test_credits_late), CHECK_TEST(test_saturated), CHECK_TEST(test_faster))
