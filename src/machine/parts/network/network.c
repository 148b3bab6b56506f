#include "machine/lookahead/lookahead.h"
#include "machine/machine.h"
#include "machine/parts/network/mesh.h"
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

/* From a router to the next. */
static uint64_t hop_ps(const struct machine_params *params, enum queue_level level)
{
    return params->link[level].latency_ps + params->network.router_ps[level];
}

/* What a packet of `bytes` takes of a link: whole flits, when it goes in flits. */
static uint64_t on_link(const struct machine_params *params, enum queue_level level, uint64_t bytes)
{
    uint64_t width = params->network.width_bytes[level];
    return params->network.cut_through ? pieces_of(bytes, width) * width : bytes;
}

/* When a packet is at the other end of a link: its head, and its tail. */
struct crossing {
    uint64_t head, tail;
};

/* Bytes that the link still has to send at `now`, as long as it takes for them. */
static uint64_t waiting(const struct link *link, struct rate rate, uint64_t now)
{
    uint64_t free_at = server_free_at(&link->server);
    if (free_at <= now)
        return 0;
    return (uint64_t)time_min((uint64_t)((unsigned __int128)(free_at - now) * rate.den / rate.num),
                              TIME_LAST);
}

/* A packet whose head reaches the link now, and its tail `lag` later: the link is held until the
 * tail has left, which cannot be before it has come. */
static struct crossing cross(struct link *link, const struct machine_params *params,
                             enum queue_level level, uint64_t now, uint64_t lag, uint64_t bytes)
{
    struct rate rate = params->link[level].rate;
    uint64_t start = time_max(now, server_free_at(&link->server)), come = time_add(now, lag);
    link->wait_max_ps = time_max(link->wait_max_ps, start - now);
    link->waiting_max = time_max(link->waiting_max, waiting(link, rate, now) + bytes);
    link->bytes += bytes;
    link->packets++;
    uint64_t end = server_accept(&link->server, rate, now, on_link(params, level, bytes));
    if (end < come) {
        link->server.busy_ps += come - end;
        link->server.whole_ps = end = come;
        link->server.rest = 0;
    }
    uint64_t hop = hop_ps(params, level);
    return (struct crossing){time_add(start, hop), time_add(end, hop)};
}

static uint64_t least(const struct link *link, const struct machine_params *params,
                      enum queue_level level, uint64_t time, uint64_t bytes, bool head)
{
    uint64_t start = time_max(time, link->server.whole_ps), held = 0;
    if (!head)
        held = server_least(params->link[level].rate, on_link(params, level, bytes));
    return time_add_saturated(start, held + hop_ps(params, level));
}

static enum queue_level level_of(uint32_t link)
{
    return link < DIRECTIONS ? LEVEL_CUBE : LEVEL_SIP;
}

uint64_t network_least(const struct cube *cube, uint32_t link, uint64_t time, uint64_t bytes,
                       bool passes)
{
    return least(&cube->links[link], cube->params, level_of(link), time, bytes,
                 passes && cube->params->network.cut_through);
}

uint64_t network_least_flight(const struct machine_params *params)
{
    return time_min(hop_ps(params, LEVEL_CUBE), hop_ps(params, LEVEL_SIP));
}

uint64_t network_least_hop(const struct machine_params *params, uint64_t bytes)
{
    return server_least(params->link[LEVEL_PE].rate, on_link(params, LEVEL_PE, bytes)) +
           hop_ps(params, LEVEL_PE);
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
    if (cube->params->network.cut_through) {
        mesh_inject(lp, event);
        return;
    }
    if (here == there) {
        deliver(lp, event, packet);
        return;
    }
    enum direction direction = grid_route(geometry->pes, grid_position(geometry->pes, here),
                                          grid_position(geometry->pes, there), geometry->pe_torus);
    if (!pe_neighbour(geometry, here, direction, &next))
        error_bug("no PE to the side %d of PE %u", direction, here);
    uint64_t time =
        cross(&cube->pe[here].links[direction], cube->params, LEVEL_PE, lp->now, 0, packet->bytes)
            .tail;
    lp_forward(lp, event->payload,
               pe_route_send(lp, event->dst, unit_of(lp->id, next, UNIT_ROUTER), time, *packet));
}

/* A packet of the PE mesh is there, its tail included. */
void mesh_tail(struct lp *lp, const struct event *event)
{
    deliver(lp, event, mesh_tail_body(event));
}

/* A packet is here with its tail, unless it goes on from here: then with its head, if links cut
 * through. */
void cube_route(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    struct packet packet = *cube_route_body(event);
    uint32_t to = unit_cube(packet.destination), link;
    if (unit_cube(event->src) != lp->id)
        lookahead_arrived(cube, event);
    if (to == lp->id) {
        deliver(lp, event, &packet);
        return;
    }
    uint32_t next = route_next(&cube->params->geometry, lp->id, to, &link);
    struct crossing there = cross(&cube->links[link], cube->params, level_of(link), lp->now,
                                  packet.of.data.lag_ps, packet.bytes);
    uint64_t time = there.tail;
    packet.of.data.lag_ps = 0;
    if (next != to && cube->params->network.cut_through) {
        time = there.head;
        packet.of.data.lag_ps = there.tail - there.head;
    }
    lp_forward(lp, event->payload,
               cube_route_send(lp, event->dst, cube_router(cube, next), time, packet));
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
        result->links.waiting_max[i] = cube->links[i].waiting_max;
    }
}

/* clang-format off */
static const struct key_row keys[] = {
    {"network.switching", KEY_CHOICE, KEY_AT(network.cut_through), "store_and_forward", "cut_through", "store_and_forward",
     "a packet goes on when all of it is there, or its head at once",
     "assumption: the simpler one"},
    {"pe_router.latency_ns", KEY_NS, KEY_AT(network.router_ps[LEVEL_PE]), "0", "1000000", "3",
     "from the end of a link of the PE mesh to the next link or the receiver, in ns",
     "public fact: AMD AIE routers, 4 cycles a hop, 1 of them on the link"},
    {"pe_router.virtual_channels", KEY_COUNT, KEY_AT(network.virtual_channels), "1", "16", "4",
     "virtual channels of an input port of the PE mesh, with cut_through; 2 or more on a torus",
     "public fact: BookSim's measured router"},
    {"pe_router.buffer_flits", KEY_COUNT, KEY_AT(network.buffer_flits), "1", "1024", "8",
     "input buffer of a virtual channel of the PE mesh in flits, with cut_through",
     "public fact: BookSim's measured router"},
    {"pe_link.bandwidth_gbps", KEY_GBPS, KEY_AT(link[LEVEL_PE].rate), "0.1", "1000000", "128",
     "bandwidth of a link of the PE mesh, in 1e9 bytes/s",
     "assumption: 128 bytes a cycle at 1 GHz"},
    {"pe_link.latency_ns", KEY_NS, KEY_AT(link[LEVEL_PE].latency_ps), "0.001", "1000000", "1",
     "latency of a link of the PE mesh, in ns",
     "public fact: AMD AIE routers, 4 cycles a hop, 3 of them in the router"},
    {"pe_link.width_bytes", KEY_COUNT, KEY_AT(network.width_bytes[LEVEL_PE]), "1", "65536", "128",
     "a flit of a link of the PE mesh in bytes: with cut_through packets are whole flits, and a cycle is width_bytes / bandwidth_gbps",
     "assumption: 128 bytes a cycle at 1 GHz"},
    {"cube_router.latency_ns", KEY_NS, KEY_AT(network.router_ps[LEVEL_CUBE]), "0", "1000000", "0",
     "from the end of a link between CUBEs to the next link or the receiver, in ns",
     "assumption: within cube_link.latency_ns"},
    {"cube_link.bandwidth_gbps", KEY_GBPS, KEY_AT(link[LEVEL_CUBE].rate), "0.1", "1000000", "256",
     "bandwidth of a link between CUBEs, in 1e9 bytes/s",
     "assumption: one UCIe module"},
    {"cube_link.latency_ns", KEY_NS, KEY_AT(link[LEVEL_CUBE].latency_ps), "0.001", "1000000", "10",
     "latency of a link between CUBEs, in ns",
     "public fact: UCIe below 2 ns, and 9-12 cycles of adapters"},
    {"cube_link.width_bytes", KEY_COUNT, KEY_AT(network.width_bytes[LEVEL_CUBE]), "1", "65536", "64",
     "a flit of a link between CUBEs in bytes: with cut_through packets are whole flits, and a cycle is width_bytes / bandwidth_gbps",
     "assumption: a cycle of 64 UCIe lanes at 8 bits"},
    {"sip_router.latency_ns", KEY_NS, KEY_AT(network.router_ps[LEVEL_SIP]), "0", "1000000", "0",
     "from the end of a link between SIPs to the next link or the receiver, in ns",
     "assumption: within sip_link.latency_ns"},
    {"sip_link.bandwidth_gbps", KEY_GBPS, KEY_AT(link[LEVEL_SIP].rate), "0.1", "1000000", "64",
     "bandwidth of a link between SIPs, in 1e9 bytes/s",
     "assumption: one PCIe 5.0 x16 port"},
    {"sip_link.latency_ns", KEY_NS, KEY_AT(link[LEVEL_SIP].latency_ps), "0.001", "1000000", "300",
     "latency of a link between SIPs, in ns",
     "assumption: two IO dies and a cable"},
    {"sip_link.width_bytes", KEY_COUNT, KEY_AT(network.width_bytes[LEVEL_SIP]), "1", "65536", "256",
     "a flit of a link between SIPs in bytes: with cut_through packets are whole flits, and a cycle is width_bytes / bandwidth_gbps",
     "public fact: a flit of PCIe 6.0 has 256 bytes"},
};
/* clang-format on */

static bool check(const struct machine_params *params, struct key_clash *clash)
{
    if (params->network.cut_through && params->geometry.pe_torus &&
        params->network.virtual_channels < 2)
        return KEY_CLASH(clash, "a PE network that is a torus needs 2 virtual channels or more",
                         "pe_router.virtual_channels", "topology.pe_network");
    return true;
}

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
    CUBE(waiting_max, "cube_link_waiting_bytes", "bytes",
         "most bytes that waited for the link, the packet that came last included"),
};
/* clang-format on */

/* A packet's tail and its head at the end of a link. */
static uint64_t serve_tail(struct cube *cube, struct pe *pe, uint64_t now, uint64_t bytes)
{
    (void)pe;
    return cross(&cube->links[DIR_E], cube->params, LEVEL_CUBE, now, bytes % 50, bytes).tail;
}

static uint64_t least_tail(const struct cube *cube, const struct pe *pe, uint64_t now,
                           uint64_t bytes)
{
    (void)pe;
    return network_least(cube, DIR_E, now, bytes, false);
}

static uint64_t serve_head(struct cube *cube, struct pe *pe, uint64_t now, uint64_t bytes)
{
    (void)pe;
    return cross(&cube->links[DIR_W], cube->params, LEVEL_CUBE, now, 0, bytes).head;
}

static uint64_t least_head(const struct cube *cube, const struct pe *pe, uint64_t now,
                           uint64_t bytes)
{
    (void)pe;
    return least(&cube->links[DIR_W], cube->params, LEVEL_CUBE, now, bytes, true);
}

static const struct part_server servers[] = {{"tail", serve_tail, least_tail},
                                             {"head", serve_head, least_head}};

const struct part network_part = {
    .name = "network",
    PART_ROWS(keys, keys),
    PART_ROWS(columns, columns),
    PART_ROWS(servers, servers),
    .init = mesh_init,
    .fini = mesh_fini,
    .memory = mesh_memory,
    .check = check,
    .collect_pe = collect_pe,
    .collect_cube = collect_cube,
};
