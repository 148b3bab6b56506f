/* Where PEs and CUBEs lie and which are neighbours. x grows to the east, y to the south.
 *
 * PEs of a CUBE (and the CUBEs of a group, which use the same numbering) are numbered so that every
 * pair of the reduction tree i -> i + 2^k is a pair of physical neighbours on a grid of up to 4 x
 * 2: column p counted from the east holds the numbers 2 * gray(p) (south) and 2 * gray(p) + 1
 * (north): rows `5 7 3 1` and `4 6 2 0`. CUBEs of a SIP are numbered row by row.
 */
#ifndef AHBM_PROG_GEOMETRY_H
#define AHBM_PROG_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "prog/op.h"

struct position {
    uint32_t x;
    uint32_t y;
};

struct grid {
    uint32_t columns;
    uint32_t rows;
};

struct geometry {
    struct grid sips;  /* of the system */
    struct grid cubes; /* of a SIP */
    struct grid pes;   /* of a CUBE */
    bool cube_torus;   /* else a mesh */
    bool pe_torus;
    bool sip_torus;
};

static inline uint32_t grid_size(struct grid grid)
{
    return grid.columns * grid.rows;
}

uint32_t geometry_cubes(const struct geometry *geometry);

/* The reduction numbering described above, for grids with 1 or 2 rows; with more rows each pair of
 * rows continues the count. */
struct position grid_position(struct grid grid, uint32_t index);
uint32_t grid_index(struct grid grid, struct position position);

/* Position of a CUBE within its SIP. */
struct position cube_position(const struct geometry *geometry, uint32_t cube);

/* One step in `direction`; false when it leaves the grid (`wrap` false). */
bool grid_step(struct grid grid, struct position *position, enum direction direction, bool wrap);

/* The PE next to `pe` in its CUBE; the CUBE next to `cube` in its SIP; the CUBE of equal index in
 * the neighbouring SIP; on a torus also over a wrap link. False when there is none. */
bool pe_neighbour(const struct geometry *geometry, uint32_t pe, enum direction direction,
                  uint32_t *neighbour);
bool cube_neighbour(const struct geometry *geometry, uint32_t cube, enum direction direction,
                    uint32_t *neighbour);
bool sip_neighbour(const struct geometry *geometry, uint32_t cube, enum direction direction,
                   uint32_t *neighbour);

/* The other end of a queue pair of PE `pe` of CUBE `cube`: the neighbouring PE of the CUBE, or the
 * PE of equal index in the neighbouring CUBE or SIP. False when the queue leads nowhere. */
struct peer {
    uint32_t cube, pe;
};
bool queue_peer(const struct geometry *geometry, uint32_t cube, uint32_t pe, enum queue_id queue,
                struct peer *peer);

/* The first step from `from` to `to` (different) on the dimension-ordered route: x, then y, the
 * shorter way round with `wrap` (east and south on a tie). */
enum direction grid_route(struct grid grid, struct position from, struct position to, bool wrap);

#endif
