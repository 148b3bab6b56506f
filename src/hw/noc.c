/* Routers and links at three levels: the PE mesh, the CUBE mesh or torus, and the IO dies' links
 * between SIPs. A packet takes a dimension-ordered route hop by hop; each link is owned by the
 * router that sends on it, is held for bytes * rate, and delivers after its latency. A SIP's IO die
 * belongs to its first CUBE. */
#include "hw/machine.h"
#include "hw/route.h"

#include <string.h>

static uint32_t cube_router(const struct cube *cube, uint32_t id)
{
    return unit_of(id, cube->pes, (enum part)0);
}

struct event *packet_send(struct lp *lp, uint32_t from, uint32_t destination, enum packet_kind kind,
                          uint32_t queue, uint64_t bytes, uint64_t time)
{
    bool inside = unit_cube(destination) == lp->id;
    uint32_t router =
        inside ? unit_of(lp->id, unit_pe(from), PART_ROUTER) : cube_router(cube_of(lp), lp->id);
    struct event *packet = lp_send(lp, from, router, inside ? MSG_PE_ROUTE : MSG_CUBE_ROUTE, time);
    packet_fill(packet, destination, from, kind, queue, bytes);
    return packet;
}

/* Passes the packet on, with its arguments. */
static void forward(struct lp *lp, const struct event *packet, uint32_t to, enum message message,
                    uint64_t time)
{
    struct event *next = lp_send(lp, packet->dst, to, (uint16_t)message, time);
    memcpy(next->arg, packet->arg, sizeof next->arg);
    lp_forward(lp, packet->payload, next);
}

/* When the packet, sent on `link` now, is at the other end. */
static uint64_t cross(struct link *link, const struct link_params *params, uint64_t now,
                      uint64_t bytes)
{
    link->wait_max_ps =
        time_max(link->wait_max_ps, time_max(now, server_free_at(&link->server)) - now);
    link->bytes += bytes;
    link->packets++;
    return time_add(server_accept(&link->server, params->rate, now, bytes), params->latency_ps);
}

static void deliver(struct lp *lp, const struct event *packet)
{
    uint32_t destination = packet_destination(packet);
    switch (packet_kind(packet)) {
    case PACKET_ACCESS:
    case PACKET_REPLY: {
        bool reply = packet_kind(packet) == PACKET_REPLY;
        struct event *event =
            lp_send(lp, packet->dst, destination, reply ? MSG_DMA_DATA : MSG_HBM_ACCESS, lp->now);
        memcpy(event->arg, &packet->arg[2], 3 * sizeof event->arg[0]);
        return;
    }
    default:
        forward(lp, packet, destination, MSG_IPCQ_PACKET, lp->now);
    }
}

void pe_route(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    const struct geometry *geometry = &cube->params->geometry;
    uint32_t here = unit_pe(event->dst), there = unit_pe(packet_destination(event)), next;
    if (here == there) {
        deliver(lp, event);
        return;
    }
    enum direction direction = grid_route(geometry->pes, grid_position(geometry->pes, here),
                                          grid_position(geometry->pes, there), false);
    if (!pe_neighbour(geometry, here, direction, &next))
        error_bug("no PE to the side %d of PE %u", direction, here);
    uint64_t time = cross(&cube->pe[here].links[direction], &cube->params->link[LEVEL_PE], lp->now,
                          packet_bytes(event));
    forward(lp, event, unit_of(lp->id, next, PART_ROUTER), MSG_PE_ROUTE, time);
}

void cube_route(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    uint32_t to = unit_cube(packet_destination(event)), link;
    if (unit_cube(event->src) != lp->id)
        inbound_remove(cube, event);
    if (to == lp->id) {
        deliver(lp, event);
        return;
    }
    uint32_t next = route_next(&cube->params->geometry, lp->id, to, &link);
    enum queue_level level = link < DIRECTIONS ? LEVEL_CUBE : LEVEL_SIP;
    uint64_t time =
        cross(&cube->links[link], &cube->params->link[level], lp->now, packet_bytes(event));
    forward(lp, event, cube_router(cube, next), MSG_CUBE_ROUTE, time);
}
