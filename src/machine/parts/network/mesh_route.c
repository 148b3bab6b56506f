#include "machine/parts/network/mesh_route.h"

#include "support/error.h"

static bool is_vertical(uint32_t port)
{
    return port == DIR_N || port == DIR_S;
}

/* Halfway round a ring both ways are equally long: PEs take one or the other in turn. */
static bool is_tie(struct grid grid, struct position from, struct position to, bool vertical)
{
    uint32_t size = vertical ? grid.rows : grid.columns;
    uint32_t up = vertical ? (to.y + size - from.y) % size : (to.x + size - from.x) % size;
    return 2 * up == size;
}

uint32_t mesh_output(const struct geometry *geometry, uint32_t here, uint32_t there)
{
    struct position from = grid_position(geometry->pes, here);
    struct position to = grid_position(geometry->pes, there);
    if (here == there)
        return MESH_PE;
    enum direction direction = grid_route(geometry->pes, from, to, geometry->pe_torus);
    if (geometry->pe_torus && (from.x + from.y) % 2 == 1 &&
        is_tie(geometry->pes, from, to, is_vertical(direction)))
        direction = direction_opposite(direction);
    return direction;
}

uint32_t mesh_far_end(const struct geometry *geometry, uint32_t here, uint32_t output,
                      uint32_t *input)
{
    uint32_t next = here;
    *input = MESH_PE;
    if (output == MESH_ENTRY)
        return here;
    *input = direction_opposite((enum direction)output);
    if (!pe_neighbour(geometry, here, (enum direction)output, &next))
        error_bug("no PE to the side %u of PE %u", output, here);
    return next;
}

/* Whether a step or way from `from` to `to` in this direction crosses the ring's wrap link. */
static bool wraps(enum direction direction, struct position from, struct position to)
{
    switch (direction) {
    case DIR_N:
        return to.y > from.y;
    case DIR_S:
        return to.y < from.y;
    case DIR_E:
        return to.x < from.x;
    default:
        return to.x > from.x;
    }
}

void mesh_channels(const struct machine_params *params, uint32_t here, uint32_t input,
                   uint32_t channel, uint32_t output, uint32_t there, uint32_t *first,
                   uint32_t *end)
{
    const struct geometry *geometry = &params->geometry;
    uint32_t channels = (uint32_t)params->network.virtual_channels, half = channels / 2, port;
    *first = 0;
    *end = channels;
    if (!geometry->pe_torus || output >= DIRECTIONS)
        return;
    struct position at = grid_position(geometry->pes, here);
    struct position next =
        grid_position(geometry->pes, mesh_far_end(geometry, here, output, &port));
    struct position goal = grid_position(geometry->pes, there);
    bool inside = input < DIRECTIONS && is_vertical(input) == is_vertical(output);
    bool upper = inside && channel >= half;
    if (wraps((enum direction)output, at, next))
        upper = true;
    else if (!inside && !wraps((enum direction)output, at, goal))
        return;
    *first = upper ? half : 0;
    *end = upper ? channels : half;
}
