#include "machine/lookahead/lookahead.h"
#include "machine/machine.h"
#include "machine/parts/network/route.h"

#include <string.h>

static uint32_t cube_router(const struct cube *cube, uint32_t id)
{
    return unit_of(id, cube->pes, (enum unit)0);
}

struct event *network_send(struct lp *lp, uint32_t from, uint64_t time, struct packet packet)
{
    packet.origin = from;
    if (unit_cube(packet.destination) != lp->id)
        return cube_route_send(lp, from, cube_router(cube_of(lp), lp->id), time, packet);
    return pe_route_send(lp, from, unit_of(lp->id, unit_pe(from), UNIT_ROUTER), time, packet);
}

/* When `bytes` that reach the link now are at its other end. */
static uint64_t serve(struct link *link, const struct link_params *params, uint64_t now,
                      uint64_t bytes)
{
    link->wait_max_ps =
        time_max(link->wait_max_ps, time_max(now, server_free_at(&link->server)) - now);
    link->bytes += bytes;
    link->packets++;
    return time_add(server_accept(&link->server, params->rate, now, bytes), params->latency_ps);
}

static uint64_t least(const struct link *link, const struct link_params *params, uint64_t time,
                      uint64_t bytes)
{
    uint64_t start = time_max(time, link->server.whole_ps);
    return time_add_saturated(start, server_least(params->rate, bytes) + params->latency_ps);
}

static const struct link_params *params_of(const struct cube *cube, uint32_t link)
{
    return &cube->params->link[link < DIRECTIONS ? LEVEL_CUBE : LEVEL_SIP];
}

uint64_t network_least(const struct cube *cube, uint32_t link, uint64_t time, uint64_t bytes)
{
    return least(&cube->links[link], params_of(cube, link), time, bytes);
}

uint64_t network_least_flight(const struct machine_params *params)
{
    return time_min(params->link[LEVEL_CUBE].latency_ps, params->link[LEVEL_SIP].latency_ps);
}

uint64_t network_least_hop(const struct machine_params *params, uint64_t bytes)
{
    return server_least(params->link[LEVEL_PE].rate, bytes) + params->link[LEVEL_PE].latency_ps;
}

static void deliver(struct lp *lp, const struct event *event, const struct packet *packet)
{
    struct event *message;
    switch (packet->kind) {
    case PACKET_ACCESS:
        hbm_access_send(lp, event->dst, packet->destination, lp->now, packet->of.memory);
        break;
    case PACKET_REPLY:
        dma_data_send(lp, event->dst, packet->destination, lp->now, packet->of.memory);
        break;
    default:
        message = ipcq_packet_send(lp, event->dst, packet->destination, lp->now, *packet);
        lp_forward(lp, event->payload, message);
    }
}

void pe_route(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    const struct geometry *geometry = &cube->params->geometry;
    const struct packet *packet = pe_route_body(event);
    uint32_t here = unit_pe(event->dst), there = unit_pe(packet->destination), next;
    if (here == there) {
        deliver(lp, event, packet);
        return;
    }
    enum direction direction = grid_route(geometry->pes, grid_position(geometry->pes, here),
                                          grid_position(geometry->pes, there), false);
    if (!pe_neighbour(geometry, here, direction, &next))
        error_bug("no PE to the side %d of PE %u", direction, here);
    uint64_t time = serve(&cube->pe[here].links[direction], &cube->params->link[LEVEL_PE], lp->now,
                          packet->bytes);
    lp_forward(lp, event->payload,
               pe_route_send(lp, event->dst, unit_of(lp->id, next, UNIT_ROUTER), time, *packet));
}

void cube_route(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    const struct packet *packet = cube_route_body(event);
    uint32_t to = unit_cube(packet->destination), link;
    if (unit_cube(event->src) != lp->id)
        lookahead_arrived(cube, event);
    if (to == lp->id) {
        deliver(lp, event, packet);
        return;
    }
    uint32_t next = route_next(&cube->params->geometry, lp->id, to, &link);
    uint64_t time = serve(&cube->links[link], params_of(cube, link), lp->now, packet->bytes);
    lp_forward(lp, event->payload,
               cube_route_send(lp, event->dst, cube_router(cube, next), time, *packet));
}

/* ---- the part ---- */

static void collect_pe(const struct cube *cube, const struct pe *pe, struct pe_result *result)
{
    (void)cube;
    for (int i = 0; i < DIRECTIONS; i++) {
        result->links.busy_ps[i] = pe->links[i].server.busy_ps;
        result->links.bytes[i] = pe->links[i].bytes;
    }
}

static void collect_cube(const struct cube *cube, struct cube_result *result)
{
    for (int i = 0; i < CUBE_LINKS; i++) {
        result->links.busy_ps[i] = cube->links[i].server.busy_ps;
        result->links.bytes[i] = cube->links[i].bytes;
        result->links.packets[i] = cube->links[i].packets;
        result->links.wait_max_ps[i] = cube->links[i].wait_max_ps;
    }
}

/* clang-format off */
static const struct key_row keys[] = {
    {"pe_link.bandwidth_gbps", KEY_GBPS, KEY_AT(link[LEVEL_PE].rate), "0.1", "1000000", "128",
     "bandwidth of a link of the PE mesh, in 1e9 bytes/s",
     "assumption: 128 bytes a cycle at 1 GHz"},
    {"pe_link.latency_ns", KEY_NS, KEY_AT(link[LEVEL_PE].latency_ps), "0.001", "1000000", "4",
     "latency of a hop of the PE mesh, in ns", "public fact: AMD AIE routers, 4 cycles a hop"},
    {"cube_link.bandwidth_gbps", KEY_GBPS, KEY_AT(link[LEVEL_CUBE].rate), "0.1", "1000000", "256",
     "bandwidth of a link between CUBEs, in 1e9 bytes/s", "assumption: one UCIe module"},
    {"cube_link.latency_ns", KEY_NS, KEY_AT(link[LEVEL_CUBE].latency_ps), "0.001", "1000000", "10",
     "latency of a hop between CUBEs, in ns",
     "public fact: UCIe below 2 ns, and 9-12 cycles of adapters"},
    {"sip_link.bandwidth_gbps", KEY_GBPS, KEY_AT(link[LEVEL_SIP].rate), "0.1", "1000000", "64",
     "bandwidth of a link between SIPs, in 1e9 bytes/s", "assumption: one PCIe 5.0 x16 port"},
    {"sip_link.latency_ns", KEY_NS, KEY_AT(link[LEVEL_SIP].latency_ps), "0.001", "1000000", "300",
     "latency of a hop between SIPs, in ns", "assumption: two IO dies and a cable"},
};
/* clang-format on */

static const char *direction_at(uint32_t at)
{
    static const char *const names[DIRECTIONS] = {"N", "S", "E", "W"};
    return names[at];
}

static const char *link_at(uint32_t at)
{
    static const char *const names[CUBE_LINKS] = {"cube.N", "cube.S", "cube.E", "cube.W",
                                                  "io.N",   "io.S",   "io.E",   "io.W"};
    return names[at];
}

#define PE(field, ...)                                                                             \
    {                                                                                              \
        COLUMN_ARRAY(COLUMN_PE, struct pe_result, links.field, DIRECTIONS, direction), __VA_ARGS__ \
    }
#define CUBE(field, ...)                                                                           \
    {                                                                                              \
        COLUMN_ARRAY(COLUMN_CUBE, struct cube_result, links.field, CUBE_LINKS, link), __VA_ARGS__  \
    }

/* clang-format off */
static const struct column columns[] = {
    PE(busy_ps, "pe_link_busy_ps", "ps",
       "busy time of the outgoing links of the PE mesh"),
    PE(bytes, "pe_link_bytes", "bytes",
       "carried by the outgoing links of the PE mesh"),
    CUBE(busy_ps, "cube_link_busy_ps", "ps",
         "busy time of the outgoing links of the CUBE"),
    CUBE(bytes, "cube_link_bytes", "bytes",
         "carried by the outgoing links of the CUBE"),
    CUBE(packets, "cube_link_packets", "1",
         "packets on the outgoing links of the CUBE"),
    CUBE(wait_max_ps, "cube_link_wait_max_ps", "ps",
         "longest wait of a packet for the link"),
};
/* clang-format on */

static uint64_t serve_east(struct cube *cube, struct pe *pe, uint64_t now, uint64_t bytes)
{
    (void)pe;
    return serve(&cube->links[DIR_E], params_of(cube, DIR_E), now, bytes);
}

static uint64_t least_east(const struct cube *cube, const struct pe *pe, uint64_t now,
                           uint64_t bytes)
{
    (void)pe;
    return network_least(cube, DIR_E, now, bytes);
}

static const struct part_server servers[] = {{"link", serve_east, least_east}};

const struct part network_part = {
    .name = "network",
    PART_ROWS(keys, keys),
    PART_ROWS(columns, columns),
    PART_ROWS(servers, servers),
    .collect_pe = collect_pe,
    .collect_cube = collect_cube,
};
