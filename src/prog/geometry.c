#include "prog/geometry.h"

static uint32_t gray(uint32_t n)
{
    return n ^ (n >> 1);
}

static uint32_t gray_inverse(uint32_t n)
{
    uint32_t value = 0;
    for (; n != 0; n >>= 1)
        value ^= n;
    return value;
}

uint32_t geometry_cubes(const struct geometry *geometry)
{
    return grid_size(geometry->sips) * grid_size(geometry->cubes);
}

/* Gray numbering needs a power of two of columns; others are numbered plainly. */
static bool is_gray(struct grid grid)
{
    return (grid.columns & (grid.columns - 1)) == 0 && grid.rows % 2 == 0;
}

struct position grid_position(struct grid grid, uint32_t index)
{
    if (!is_gray(grid))
        return (struct position){index % grid.columns, index / grid.columns};
    uint32_t band = index / (2 * grid.columns), within = index % (2 * grid.columns);
    uint32_t from_east = gray_inverse(within / 2);
    return (struct position){grid.columns - 1 - from_east, 2 * band + (within % 2 ? 0 : 1)};
}

uint32_t grid_index(struct grid grid, struct position position)
{
    if (!is_gray(grid))
        return position.y * grid.columns + position.x;
    uint32_t band = position.y / 2, north = position.y % 2 == 0;
    return band * 2 * grid.columns + 2 * gray(grid.columns - 1 - position.x) + north;
}

struct position cube_position(const struct geometry *geometry, uint32_t cube)
{
    uint32_t within = cube % grid_size(geometry->cubes);
    return (struct position){within % geometry->cubes.columns, within / geometry->cubes.columns};
}

static bool step(uint32_t *at, uint32_t size, bool up, bool wrap)
{
    if (up ? *at + 1 < size : *at > 0) {
        *at += up ? 1 : UINT32_MAX;
        return true;
    }
    if (!wrap || size < 2)
        return false;
    *at = up ? 0 : size - 1;
    return true;
}

bool grid_step(struct grid grid, struct position *position, enum direction direction, bool wrap)
{
    switch (direction) {
    case DIR_N:
        return step(&position->y, grid.rows, false, wrap);
    case DIR_S:
        return step(&position->y, grid.rows, true, wrap);
    case DIR_E:
        return step(&position->x, grid.columns, true, wrap);
    default:
        return step(&position->x, grid.columns, false, wrap);
    }
}

bool pe_neighbour(const struct geometry *geometry, uint32_t pe, enum direction direction,
                  uint32_t *neighbour)
{
    struct position position = grid_position(geometry->pes, pe);
    if (!grid_step(geometry->pes, &position, direction, geometry->pe_torus))
        return false;
    *neighbour = grid_index(geometry->pes, position);
    return true;
}

bool cube_neighbour(const struct geometry *geometry, uint32_t cube, enum direction direction,
                    uint32_t *neighbour)
{
    struct position position = cube_position(geometry, cube);
    if (!grid_step(geometry->cubes, &position, direction, geometry->cube_torus))
        return false;
    uint32_t per_sip = grid_size(geometry->cubes);
    *neighbour = cube / per_sip * per_sip + position.y * geometry->cubes.columns + position.x;
    return true;
}

bool sip_neighbour(const struct geometry *geometry, uint32_t cube, enum direction direction,
                   uint32_t *neighbour)
{
    uint32_t per_sip = grid_size(geometry->cubes), sip = cube / per_sip;
    struct position position = {sip % geometry->sips.columns, sip / geometry->sips.columns};
    if (!grid_step(geometry->sips, &position, direction, geometry->sip_torus))
        return false;
    *neighbour = (position.y * geometry->sips.columns + position.x) * per_sip + cube % per_sip;
    return true;
}

/* Whether going up (east, south) is the way from `from` to `to`. */
static bool goes_up(uint32_t from, uint32_t to, uint32_t size, bool wrap)
{
    if (!wrap)
        return to > from;
    uint32_t up = (to + size - from) % size;
    return 2 * up <= size;
}

bool queue_peer(const struct geometry *geometry, uint32_t cube, uint32_t pe, enum queue_id queue,
                struct peer *peer)
{
    enum direction direction = queue_direction(queue);
    *peer = (struct peer){cube, pe};
    switch (queue_level(queue)) {
    case LEVEL_PE:
        return pe_neighbour(geometry, pe, direction, &peer->pe);
    case LEVEL_CUBE: /* a ring of one leads back to where it came from */
        return cube_neighbour(geometry, cube, direction, &peer->cube) && peer->cube != cube;
    default:
        return sip_neighbour(geometry, cube, direction, &peer->cube);
    }
}

enum direction grid_route(struct grid grid, struct position from, struct position to, bool wrap)
{
    if (from.x != to.x)
        return goes_up(from.x, to.x, grid.columns, wrap) ? DIR_E : DIR_W;
    return goes_up(from.y, to.y, grid.rows, wrap) ? DIR_S : DIR_N;
}
