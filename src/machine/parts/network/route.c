#include "machine/parts/network/route.h"

#include "support/error.h"

/* From SIP to SIP, at the IO die, which belongs to the SIP's first CUBE. */
static uint32_t next_sip(const struct geometry *geometry, uint32_t cube, uint32_t sip,
                         uint32_t to_sip, uint32_t *link)
{
    uint32_t next, columns = geometry->sips.columns;
    struct position from = {sip % columns, sip / columns};
    struct position goal = {to_sip % columns, to_sip / columns};
    enum direction direction = grid_route(geometry->sips, from, goal, geometry->sip_torus);
    *link = DIRECTIONS + (uint32_t)direction;
    if (!sip_neighbour(geometry, cube, direction, &next))
        error_bug("no SIP to the side %d of SIP %u", direction, sip);
    return next;
}

uint32_t route_next(const struct geometry *geometry, uint32_t from, uint32_t to, uint32_t *link)
{
    uint32_t per_sip = grid_size(geometry->cubes), next;
    uint32_t sip = from / per_sip, to_sip = to / per_sip;
    uint32_t target = sip == to_sip ? to : sip * per_sip; /* or to the IO die */
    if (from == target)
        return next_sip(geometry, from, sip, to_sip, link);
    enum direction direction = grid_route(geometry->cubes, cube_position(geometry, from),
                                          cube_position(geometry, target), geometry->cube_torus);
    *link = (uint32_t)direction;
    if (!cube_neighbour(geometry, from, direction, &next))
        error_bug("no CUBE to the side %d of CUBE %u", direction, from);
    return next;
}
