#include "machine/lookahead/inbound.h"

#include "machine/fifo.h"
#include "machine/lookahead/state.h"
#include "machine/message.h"
#include "support/memory.h"

/* Where a packet for CUBE `cube` is noted; NULL: it will be passed on. */
static struct inbound *inbound_of(struct lookahead *lookahead, uint32_t cube,
                                  const struct packet *packet)
{
    if (unit_cube(packet->destination) != cube)
        return NULL;
    struct pe_lookahead *pe = &lookahead->pe[unit_pe(packet->destination)];
    return packet->kind == PACKET_DATA ? &pe->data[packet->queue] : &pe->credits[packet->queue];
}

static void note_passing(struct passing *passing, const struct event *event)
{
    if (passing->count == passing->capacity) {
        passing->capacity = passing->capacity ? 2 * passing->capacity : 16;
        passing->packets =
            memory_resize(passing->packets, passing->capacity, sizeof *passing->packets);
    }
    passing->packets[passing->count++] =
        (struct passing_packet){event->time, event->src, event->seq};
}

static uint32_t place(const struct inbound *inbound, uint64_t at)
{
    uint64_t place = inbound->first + at;
    return (uint32_t)(place < inbound->room ? place : place - inbound->room);
}

static void make_room(const struct lp *lp, uint64_t slots, struct inbound *inbound)
{
    if (inbound->count == slots)
        error_bug("CUBE %u was sent more packets than a queue has slots", lp->id);
    inbound->packets = ring_grown(inbound->packets, sizeof *inbound->packets, inbound->first,
                                  &inbound->room, slots);
    inbound->first = 0;
}

void lookahead_announce(struct lp *lp, const struct event *event)
{
    struct lookahead *lookahead = cube_lookahead(lp->state);
    const struct packet *packet = cube_route_body(event);
    struct inbound *inbound = inbound_of(lookahead, lp->id, packet);
    if (inbound == NULL) {
        note_passing(&lookahead->passing, event);
        return;
    }
    if (inbound->count == inbound->room)
        make_room(lp, lookahead->params->ipcq.slots, inbound);
    inbound->packets[place(inbound, inbound->count++)] =
        (struct inbound_packet){event->time, packet->bytes};
}

static void passing_remove(struct passing *passing, const struct event *event)
{
    for (uint32_t i = 0; i < passing->count; i++)
        if (passing->packets[i].seq == event->seq && passing->packets[i].src == event->src) {
            passing->packets[i] = passing->packets[--passing->count];
            return;
        }
    error_bug("event %u of unit %u was dispatched but never announced", event->seq, event->src);
}

void lookahead_arrived(struct cube *cube, const struct event *event)
{
    struct lookahead *lookahead = cube_lookahead(cube);
    const struct packet *packet = cube_route_body(event);
    struct inbound *inbound = inbound_of(lookahead, cube_id(cube), packet);
    if (inbound == NULL) {
        passing_remove(&lookahead->passing, event);
        return;
    }
    if (inbound->count == 0 || inbound->packets[inbound->first].time != event->time)
        error_bug("event %u of unit %u came out of order", event->seq, event->src);
    inbound->first = place(inbound, 1);
    inbound->count--;
    inbound->came++;
}

uint64_t inbound_time(const struct inbound *inbound, uint64_t number)
{
    if (number <= inbound->came)
        return 0;
    if (number > inbound->came + inbound->count)
        return TIME_NEVER;
    return inbound->packets[place(inbound, number - inbound->came - 1)].time;
}
