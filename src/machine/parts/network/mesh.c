/* The PE mesh with cut-through. A packet is a worm of flits: its head takes a virtual channel of
 * the next input buffer at each hop, its flits follow as long as that buffer has room, its tail
 * gives the channel back. Events are bursts: flits of one packet that cross a link one a cycle. A
 * burst is as long as what is here and what the next buffer takes, so nothing happens per flit.
 *
 * No deadlock: x before y, and on a torus packets change to the upper half of the channels at the
 * wrap link of a ring, so that no circle of buffers can wait for each other; receivers take all. */
#include "machine/parts/network/mesh.h"

#include "machine/machine.h"
#include "machine/parts/network/mesh_route.h"
#include "support/memory.h"

/* A credit is made and read, a cycle each. */
enum { CREDIT_CYCLES = 2 };

/* An output that wants an input which another output has loses cycles, so often in a row, before it
 * takes what else there is: what separate allocators of inputs and outputs cost. Fitted to the
 * saturation of BookSim's routers under uniform traffic. */
enum { LOST_MAX = 3 };

static struct mesh_router *router_of(struct cube *cube, uint32_t pe)
{
    return cube->pe[pe].router;
}

static uint64_t cycles_ps(const struct machine_params *params, uint64_t flits)
{
    return rate_duration(params->link[LEVEL_PE].rate,
                         flits * params->network.width_bytes[LEVEL_PE]);
}

static uint64_t hop_ps(const struct machine_params *params)
{
    return params->link[LEVEL_PE].latency_ps + params->network.router_ps[LEVEL_PE];
}

/* From a flit's leaving a buffer until its place is known to be free at the other end of the link.
 */
static uint64_t credit_ps(const struct machine_params *params, uint32_t output)
{
    return (output < DIRECTIONS ? params->link[LEVEL_PE].latency_ps : 0) +
           cycles_ps(params, CREDIT_CYCLES);
}

/* ---- packets ---- */

static struct worm *worm_at(struct cube *cube, uint32_t worm)
{
    return &router_of(cube, 0)->worms[worm];
}

static uint32_t new_worm(struct cube *cube, const struct event *event)
{
    struct mesh_router *first = router_of(cube, 0);
    const struct packet *packet = pe_route_body(event);
    uint32_t worm = first->free_worm;
    if (worm != NO_WORM) {
        first->free_worm = first->worms[worm].next;
    } else {
        if (first->worms_count == first->worms_capacity) {
            first->worms_capacity = first->worms_capacity ? 2 * first->worms_capacity : 64;
            first->worms = memory_resize(first->worms, first->worms_capacity, sizeof *first->worms);
        }
        worm = first->worms_count++;
    }
    uint64_t width = cube->params->network.width_bytes[LEVEL_PE];
    first->worms[worm] = (struct worm){
        *packet, (uint32_t)time_max(1, pieces_of(packet->bytes, width)), NO_WORM, event->payload};
    return worm;
}

/* The packet's tail is at its PE at `time`. */
static void leave(struct lp *lp, struct cube *cube, uint32_t from, uint32_t index, uint64_t time)
{
    struct mesh_router *first = router_of(cube, 0);
    struct worm *worm = &first->worms[index];
    uint32_t to = unit_of(lp->id, unit_pe(worm->packet.destination), UNIT_ROUTER);
    lp_forward(lp, worm->payload, mesh_tail_send(lp, from, to, time, worm->packet));
    worm->next = first->free_worm;
    first->free_worm = index;
}

/* ---- credits ---- */

static void take_credits(struct far_channel *far, uint64_t buffer, uint64_t now)
{
    while (far->count > 0 && far->coming[far->first].time <= now) {
        far->credits += far->coming[far->first].flits;
        far->first = far->first + 1 == buffer ? 0 : far->first + 1;
        far->count--;
    }
}

/* At `time` the output may send again, if that is sooner than what it waits for. */
static void turn_at(struct lp *lp, struct output *output, uint32_t pe, uint32_t port, uint64_t time)
{
    uint32_t unit = unit_of(lp->id, pe, UNIT_ROUTER);
    if (time >= output->turn_at)
        return;
    output->turn_at = time;
    mesh_turn_send(lp, lp->current.dst, unit, time, (struct turn){port});
}

/* `flits` have left a buffer of the router: whoever fills it learns of it. */
static void return_credits(struct lp *lp, struct cube *cube, uint32_t pe, uint32_t input,
                           uint32_t channel, uint32_t flits)
{
    const struct machine_params *params = cube->params;
    uint32_t from = pe, port = MESH_ENTRY;
    if (input < DIRECTIONS) {
        port = direction_opposite((enum direction)input);
        if (!pe_neighbour(&params->geometry, pe, (enum direction)input, &from))
            error_bug("no PE to the side %u of PE %u", input, pe);
    }
    struct output *output = &router_of(cube, from)->output[port];
    struct far_channel *far = &output->far[channel];
    uint64_t time = time_add(lp->now, credit_ps(params, port));
    uint32_t buffer = (uint32_t)params->network.buffer_flits;
    far->coming[(far->first + far->count++) % buffer] = (struct credit){time, flits};
    if (output->waiting > 0)
        turn_at(lp, output, from, port, time);
}

/* ---- sending ---- */

/* A packet that waits for an output: where from, and how far it may go. */
struct candidate {
    uint32_t input, channel; /* MESH_PE as input of MESH_ENTRY: the PE's queue */
    uint32_t far, flits;
};

static void want(struct mesh_router *router, uint32_t input, uint32_t channel)
{
    struct output *output = &router->output[router->channel[input][channel].port];
    if (output->wanted[input] & 1u << channel)
        return;
    output->wanted[input] |= 1u << channel;
    output->waiting++;
}

static void want_no_more(struct output *output, uint32_t input, uint32_t channel)
{
    output->wanted[input] &= ~(1u << channel);
    output->waiting--;
}

/* The free channel with the most credits among [first, end); NO_CHANNEL: none. Messages of a queue
 * pair must stay in order, so they all take one channel, which may not be free. */
static uint32_t free_channel(struct output *output, const struct packet *packet, uint32_t first,
                             uint32_t end, uint64_t buffer, uint64_t now)
{
    uint32_t best = NO_CHANNEL;
    if (packet->kind == PACKET_DATA && first < end) {
        first += (unit_pe(packet->origin) + packet->queue) % (end - first);
        end = first + 1;
    }
    for (uint32_t i = first; i < end; i++) {
        struct far_channel *far = &output->far[i];
        take_credits(far, buffer, now);
        if (!far->owned && (best == NO_CHANNEL || far->credits > output->far[best].credits))
            best = i;
    }
    return best;
}

/* How many flits may go into a channel at the other end; none: `*wake` is when that may change. */
static uint32_t room(struct output *output, uint32_t channel, uint64_t buffer, uint64_t now,
                     uint64_t *wake)
{
    struct far_channel *far = &output->far[channel];
    take_credits(far, buffer, now);
    if (far->credits == 0 && far->count > 0)
        *wake = time_min(*wake, far->coming[far->first].time);
    return far->credits;
}

/* Whether the channel may send through the output now. */
static bool may_send(struct lp *lp, struct cube *cube, uint32_t pe, uint32_t port, uint32_t input,
                     uint32_t number, struct candidate *candidate, uint64_t *wake)
{
    const struct machine_params *params = cube->params;
    struct mesh_router *router = router_of(cube, pe);
    struct output *output = &router->output[port];
    struct channel *channel = &router->channel[input][number];
    uint64_t buffer = params->network.buffer_flits;
    uint32_t first, end, far = channel->channel;
    if (router->input_free_at[input] > lp->now) {
        *wake = time_min(*wake, router->input_free_at[input]);
        candidate->flits = NO_WORM;
        return false;
    }
    *candidate =
        (struct candidate){input, number, NO_CHANNEL, channel->parts[channel->first].ready};
    if (output->far == NULL)
        return true;
    if (far == NO_CHANNEL) {
        const struct worm *worm = worm_at(cube, channel->parts[channel->first].worm);
        mesh_channels(params, pe, input, number, port, unit_pe(worm->packet.destination), &first,
                      &end);
        far = free_channel(output, &worm->packet, first, end, buffer, lp->now);
        if (far == NO_CHANNEL)
            return false;
    }
    candidate->far = far;
    candidate->flits =
        (uint32_t)time_min(candidate->flits, room(output, far, buffer, lp->now, wake));
    return candidate->flits > 0;
}

/* The next in turn that may send. */
static bool choose(struct lp *lp, struct cube *cube, uint32_t pe, uint32_t port,
                   struct candidate *candidate, uint64_t *wake)
{
    struct output *output = &router_of(cube, pe)->output[port];
    uint32_t all = MESH_INPUTS * NETWORK_VCS_MAX;
    for (uint32_t i = 1; i <= all; i++) {
        uint32_t at = (output->last + i) % all, input = at / NETWORK_VCS_MAX;
        uint32_t left = output->wanted[input] >> at % NETWORK_VCS_MAX;
        if (left == 0) { /* on to the next input */
            i += NETWORK_VCS_MAX - 1 - at % NETWORK_VCS_MAX;
            continue;
        }
        uint32_t skip = (uint32_t)__builtin_ctz(left);
        i += skip;
        if (i > all)
            break;
        candidate->flits = 0;
        if (may_send(lp, cube, pe, port, input, at % NETWORK_VCS_MAX + skip, candidate, wake))
            return true;
        if (candidate->flits == NO_WORM && output->lost < LOST_MAX) {
            uint64_t cycle = cycles_ps(cube->params, 1);
            uint64_t rest = router_of(cube, pe)->input_free_at[input] - lp->now;
            output->lost++;
            *wake = lp->now + pieces_of(rest, 2 * cycle) * cycle;
            return false;
        }
    }
    return false;
}

/* The next packet of a buffer, if there is one, looks for its way. */
static void next_part(struct cube *cube, uint32_t pe, uint32_t input, uint32_t number)
{
    struct mesh_router *router = router_of(cube, pe);
    struct channel *channel = &router->channel[input][number];
    const struct worm *worm = worm_at(cube, channel->parts[channel->first].worm);
    channel->port =
        (uint8_t)mesh_output(&cube->params->geometry, pe, unit_pe(worm->packet.destination));
    channel->channel = NO_CHANNEL;
    if (channel->parts[channel->first].ready > 0)
        want(router, input, number);
}

static void send_burst(struct lp *lp, struct cube *cube, uint32_t pe, uint32_t port,
                       struct burst burst)
{
    uint32_t input;
    uint32_t to = mesh_far_end(&cube->params->geometry, pe, port, &input);
    uint64_t time = port == MESH_ENTRY ? lp->now : time_add(lp->now, hop_ps(cube->params));
    burst.port = (uint8_t)input;
    mesh_burst_send(lp, unit_of(lp->id, pe, UNIT_ROUTER), unit_of(lp->id, to, UNIT_ROUTER), time,
                    burst);
}

/* `flits` of a packet go over the output's link from now on. */
static uint64_t occupy(struct lp *lp, struct cube *cube, struct output *output, uint32_t flits)
{
    const struct machine_params *params = cube->params;
    return server_accept(output->server, params->link[LEVEL_PE].rate, lp->now,
                         flits * params->network.width_bytes[LEVEL_PE]);
}

/* Whether the tail goes with it. */
static bool advance(struct output *output, uint32_t far, uint32_t flits, bool last)
{
    if (output->far != NULL) {
        output->far[far].credits -= flits;
        output->far[far].owned = !last;
    }
    return last;
}

static void count(struct cube *cube, uint32_t pe, uint32_t port, const struct worm *worm)
{
    struct link *link = &cube->pe[pe].links[port];
    link->bytes += worm->packet.bytes;
    link->packets++;
}

static void send_from_channel(struct lp *lp, struct cube *cube, uint32_t pe, uint32_t port,
                              const struct candidate *candidate)
{
    struct mesh_router *router = router_of(cube, pe);
    struct output *output = &router->output[port];
    struct channel *channel = &router->channel[candidate->input][candidate->channel];
    struct worm_part *part = &channel->parts[channel->first];
    const struct worm *worm = worm_at(cube, part->worm);
    uint32_t index = part->worm, flits = candidate->flits;
    uint64_t end = occupy(lp, cube, output, flits);
    bool head = part->sent == 0;
    bool last = advance(output, candidate->far, flits, part->sent + flits == worm->flits);
    channel->channel = (uint8_t)candidate->far;
    router->input_free_at[candidate->input] = end;
    output->lost = 0;
    output->last = candidate->input * NETWORK_VCS_MAX + candidate->channel;
    part->sent += flits;
    part->ready -= flits;
    if (part->ready == 0)
        want_no_more(output, candidate->input, candidate->channel);
    if (head && port < DIRECTIONS)
        count(cube, pe, port, worm);
    if (last) {
        channel->first =
            channel->first == cube->params->network.buffer_flits ? 0 : channel->first + 1;
        if (--channel->count > 0) {
            next_part(cube, pe, candidate->input, candidate->channel);
            if (channel->port != port)
                turn_at(lp, &router->output[channel->port], pe, channel->port, end);
        }
    }
    return_credits(lp, cube, pe, candidate->input, candidate->channel, flits);
    if (output->far != NULL)
        send_burst(lp, cube, pe, port,
                   (struct burst){index, flits, 0, (uint8_t)candidate->far, head});
    else if (last)
        leave(lp, cube, unit_of(lp->id, pe, UNIT_ROUTER), index, end);
}

/* The PE's first packet goes on into a buffer of its router's. */
static bool send_from_queue(struct lp *lp, struct cube *cube, uint32_t pe, uint64_t *wake)
{
    const struct network_params *network = &cube->params->network;
    struct mesh_router *router = router_of(cube, pe);
    struct output *output = &router->output[MESH_ENTRY];
    uint32_t index = router->queue_first, far = router->queue_channel;
    const struct worm *worm = worm_at(cube, index);
    bool head = far == NO_CHANNEL;
    if (head)
        far = free_channel(output, &worm->packet, 0, (uint32_t)network->virtual_channels,
                           network->buffer_flits, lp->now);
    if (far == NO_CHANNEL)
        return false;
    uint32_t flits = (uint32_t)time_min(worm->flits - router->queue_sent,
                                        room(output, far, network->buffer_flits, lp->now, wake));
    if (flits == 0)
        return false;
    occupy(lp, cube, output, flits);
    router->queue_sent += flits;
    router->queue_channel = (uint8_t)far;
    if (advance(output, far, flits, router->queue_sent == worm->flits)) {
        router->queue_first = worm->next;
        router->queue_sent = 0;
        router->queue_channel = NO_CHANNEL;
        output->waiting = router->queue_first != NO_WORM;
    }
    send_burst(lp, cube, pe, MESH_ENTRY, (struct burst){index, flits, 0, (uint8_t)far, head});
    return true;
}

/* The output sends what it may, and looks again when that may be more. */
static void serve(struct lp *lp, struct cube *cube, uint32_t pe, uint32_t port)
{
    struct output *output = &router_of(cube, pe)->output[port];
    struct candidate candidate;
    uint64_t wake = TIME_NEVER;
    if (output->waiting == 0)
        return;
    if (server_free_at(output->server) <= lp->now) {
        if (port == MESH_ENTRY) {
            if (send_from_queue(lp, cube, pe, &wake))
                wake = server_free_at(output->server);
        } else if (choose(lp, cube, pe, port, &candidate, &wake)) {
            send_from_channel(lp, cube, pe, port, &candidate);
            wake = server_free_at(output->server);
        }
    } else {
        wake = server_free_at(output->server);
    }
    if (output->waiting > 0 && wake != TIME_NEVER)
        turn_at(lp, output, pe, port, wake);
}

void mesh_turn(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    uint32_t pe = unit_pe(event->dst), port = mesh_turn_body(event)->port;
    struct output *output = &router_of(cube, pe)->output[port];
    if (output->turn_at != event->time) /* there was an earlier one */
        return;
    output->turn_at = TIME_NEVER;
    serve(lp, cube, pe, port);
}

void mesh_burst(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    const struct burst *burst = mesh_burst_body(event);
    uint32_t pe = unit_pe(event->dst), size = (uint32_t)cube->params->network.buffer_flits + 1;
    struct mesh_router *router = router_of(cube, pe);
    struct channel *channel = &router->channel[burst->port][burst->channel];
    if (burst->head) {
        if (channel->count == size)
            error_bug("a buffer of PE %u has more packets than flits", pe);
        channel->parts[(channel->first + channel->count++) % size] =
            (struct worm_part){burst->worm, burst->flits, 0};
        if (channel->count == 1)
            next_part(cube, pe, burst->port, burst->channel);
    } else {
        struct worm_part *part = &channel->parts[(channel->first + channel->count - 1) % size];
        part->ready += burst->flits;
        if (channel->count == 1)
            want(router, burst->port, burst->channel);
    }
    serve(lp, cube, pe, channel->port);
}

/* ---- a way that is free ---- */

static bool is_idle(struct output *output, uint64_t buffer, uint64_t channels, uint64_t now,
                    uint64_t time)
{
    if (output->waiting > 0 || server_free_at(output->server) > time)
        return false;
    for (uint32_t i = 0; output->far != NULL && i < channels; i++) {
        take_credits(&output->far[i], buffer, now);
        if (output->far[i].owned || output->far[i].credits < buffer)
            return false;
    }
    return true;
}

/* Walks the packet's way; whether it is free for it, and when its tail is there. With `hold` its
 * links are held. */
static bool walk(struct lp *lp, struct cube *cube, uint32_t pe, const struct worm *worm, bool hold,
                 uint64_t *tail)
{
    const struct machine_params *params = cube->params;
    const struct network_params *network = &params->network;
    uint32_t there = unit_pe(worm->packet.destination), input = MESH_PE, port = MESH_ENTRY;
    uint64_t bytes = worm->flits * network->width_bytes[LEVEL_PE], time = lp->now;
    for (;;) {
        struct mesh_router *router = router_of(cube, pe);
        struct output *output = &router->output[port];
        if (!hold &&
            (!is_idle(output, network->buffer_flits, network->virtual_channels, lp->now, time) ||
             (port != MESH_ENTRY && router->input_free_at[input] > time)))
            return false;
        if (hold) {
            *tail = server_accept(output->server, params->link[LEVEL_PE].rate, time, bytes);
            if (port != MESH_ENTRY)
                router->input_free_at[input] = *tail;
            if (port < DIRECTIONS)
                count(cube, pe, port, worm);
        }
        if (port == MESH_PE)
            return true;
        time = time_add(time, port == MESH_ENTRY ? 0 : hop_ps(params));
        pe = mesh_far_end(&params->geometry, pe, port, &input);
        port = mesh_output(&params->geometry, pe, there);
    }
}

/* Whether credits come back before a buffer is full, so that a packet streams. */
static bool streams(const struct machine_params *params, uint32_t flits)
{
    return flits <= params->network.buffer_flits ||
           hop_ps(params) + credit_ps(params, 0) <= cycles_ps(params, params->network.buffer_flits);
}

/* A packet that finds all its way free takes it as a whole, at the price of one event. */
void mesh_inject(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    uint32_t pe = unit_pe(event->dst), index = new_worm(cube, event);
    struct mesh_router *router = router_of(cube, pe);
    struct worm *worm = worm_at(cube, index);
    uint64_t tail = 0;
    if (streams(cube->params, worm->flits) && walk(lp, cube, pe, worm, false, &tail)) {
        walk(lp, cube, pe, worm, true, &tail);
        leave(lp, cube, event->dst, index, tail);
        return;
    }
    if (router->queue_first == NO_WORM)
        router->queue_first = index;
    else
        worm_at(cube, router->queue_last)->next = index;
    router->queue_last = index;
    router->output[MESH_ENTRY].waiting = 1;
    serve(lp, cube, pe, MESH_ENTRY);
}
