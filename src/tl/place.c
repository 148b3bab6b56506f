/* Where the PE is and which queues lead to whom. */
#include "tl/check.h"

static uint32_t sip_of(const struct tl *tl)
{
    return tl->config->cube / grid_size(tl->config->geometry->cubes);
}

uint32_t tl_program_id(struct tl *tl, enum tl_axis axis)
{
    tl->call = "tl_program_id";
    const struct tl_launch *launch = &tl->config->launch;
    switch (axis) {
    case TL_AXIS_PE:
        return launch->pe;
    case TL_AXIS_CUBE:
        return launch->cube;
    case TL_AXIS_GROUP:
        return launch->group;
    case TL_AXIS_SIP:
        return sip_of(tl);
    }
    tl_reject(tl, "there is no axis %d", (int)axis);
}

uint32_t tl_num_programs(struct tl *tl, enum tl_axis axis)
{
    tl->call = "tl_num_programs";
    const struct tl_launch *launch = &tl->config->launch;
    switch (axis) {
    case TL_AXIS_PE:
        return launch->pes;
    case TL_AXIS_CUBE:
        return launch->group_cubes;
    case TL_AXIS_GROUP:
        return geometry_cubes(tl->config->geometry) / launch->group_cubes;
    case TL_AXIS_SIP:
        return grid_size(tl->config->geometry->sips);
    }
    tl_reject(tl, "there is no axis %d", (int)axis);
}

static struct grid grid_of(struct tl *tl, enum tl_axis axis)
{
    const struct tl_launch *launch = &tl->config->launch;
    if (axis == TL_AXIS_PE)
        return (struct grid){launch->pe_columns, launch->pe_rows};
    if (axis == TL_AXIS_CUBE)
        return (struct grid){launch->cube_columns, launch->cube_rows};
    if (axis == TL_AXIS_SIP)
        return tl->config->geometry->sips;
    tl_reject(tl, "axis %d has no grid", (int)axis);
}

static struct position position_of(struct tl *tl, enum tl_axis axis, uint32_t index)
{
    struct grid grid = grid_of(tl, axis);
    if (index >= grid_size(grid))
        tl_reject(tl, "index %u is out of range: the grid is %u x %u", index, grid.columns,
                  grid.rows);
    if (axis == TL_AXIS_SIP) /* row by row */
        return (struct position){index % grid.columns, index / grid.columns};
    return grid_position(grid, index);
}

struct tl_position tl_position(struct tl *tl, enum tl_axis axis, uint32_t index)
{
    tl->call = "tl_position";
    struct position at = position_of(tl, axis, index);
    return (struct tl_position){at.x, at.y};
}

uint32_t tl_index_at(struct tl *tl, enum tl_axis axis, struct tl_position position)
{
    tl->call = "tl_index_at";
    struct grid grid = grid_of(tl, axis);
    if (position.x >= grid.columns || position.y >= grid.rows)
        tl_reject(tl, "(%u, %u) lies outside the grid of %u x %u", position.x, position.y,
                  grid.columns, grid.rows);
    if (axis == TL_AXIS_SIP)
        return position.y * grid.columns + position.x;
    return grid_index(grid, (struct position){position.x, position.y});
}

enum tl_queue tl_queue_to(struct tl *tl, enum tl_axis axis, uint32_t peer)
{
    tl->call = "tl_queue_to";
    static const char *const names[] = {"PE", "CUBE", "group", "SIP"};
    static const enum queue_level levels[] = {LEVEL_PE, LEVEL_CUBE, LEVEL_CUBE, LEVEL_SIP};
    struct grid grid = grid_of(tl, axis); /* not of groups */
    uint32_t self = axis == TL_AXIS_PE     ? tl->config->launch.pe
                    : axis == TL_AXIS_CUBE ? tl->config->launch.cube
                                           : sip_of(tl);
    struct position from = position_of(tl, axis, self), to = position_of(tl, axis, peer);
    uint32_t dx = from.x > to.x ? from.x - to.x : to.x - from.x;
    uint32_t dy = from.y > to.y ? from.y - to.y : to.y - from.y;
    if (dx + dy != 1)
        tl_reject(tl, "%s %u and %u are not neighbours", names[axis], self, peer);
    return (enum tl_queue)queue_at(levels[axis], grid_route(grid, from, to, false));
}
