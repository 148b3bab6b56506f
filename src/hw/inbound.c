/* What other CUBEs have sent to this one and lies in the LP's queue. The packets of a queue pair
 * take one way, over links that keep their order, so they come in the order in which they were
 * announced. */
#include "hw/machine.h"
#include "support/memory.h"

/* Where a packet for this CUBE is noted; NULL: it will be passed on. */
static struct inbound *inbound_of(const struct cube *cube, const struct event *event)
{
    uint32_t destination = packet_destination(event);
    if (unit_cube(destination) != cube->id)
        return NULL;
    struct ipcq_queue *q = &cube->pe[unit_pe(destination)].ipcq.queue[packet_queue(event)];
    return packet_kind(event) == PACKET_DATA ? &q->data : &q->credit_packets;
}

static void note_passing(struct cube *cube, const struct event *event)
{
    if (cube->passing_count == cube->passing_capacity) {
        cube->passing_capacity = cube->passing_capacity ? 2 * cube->passing_capacity : 16;
        cube->passing = memory_resize(cube->passing, cube->passing_capacity, sizeof *cube->passing);
    }
    cube->passing[cube->passing_count++] = (struct passing){event->time, event->src, event->seq};
}

static uint32_t place(const struct inbound *inbound, uint64_t at)
{
    uint64_t place = inbound->first + at;
    return (uint32_t)(place < inbound->room ? place : place - inbound->room);
}

static void make_room(const struct cube *cube, struct inbound *inbound)
{
    uint64_t slots = cube->params->ipcq.slots;
    if (inbound->count == slots)
        error_bug("CUBE %u was sent more packets than a queue has slots", cube->id);
    inbound->packets = grown_ring(inbound->packets, sizeof *inbound->packets, inbound->first,
                                  &inbound->room, slots);
    inbound->first = 0;
}

void cube_announce(struct lp *lp, const struct event *event)
{
    struct cube *cube = cube_of(lp);
    struct inbound *inbound = inbound_of(cube, event);
    if (inbound == NULL) {
        note_passing(cube, event);
        return;
    }
    if (inbound->count == inbound->room)
        make_room(cube, inbound);
    inbound->packets[place(inbound, inbound->count++)] =
        (struct inbound_packet){event->time, packet_bytes(event)};
}

static void passing_remove(struct cube *cube, const struct event *event)
{
    for (uint32_t i = 0; i < cube->passing_count; i++)
        if (cube->passing[i].seq == event->seq && cube->passing[i].src == event->src) {
            cube->passing[i] = cube->passing[--cube->passing_count];
            return;
        }
    error_bug("event %u of unit %u was dispatched but never announced", event->seq, event->src);
}

void inbound_remove(struct cube *cube, const struct event *event)
{
    struct inbound *inbound = inbound_of(cube, event);
    if (inbound == NULL) {
        passing_remove(cube, event);
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
