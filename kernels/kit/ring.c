#include <ahbm/kit/ring.h>

/* The cycle on a grid with an even number of rows and two columns or more: east along row 0, then
 * to and fro without column 0, and back along column 0. */
static struct tl_position even_rows(uint32_t columns, uint32_t rows, uint32_t place)
{
    if (place < columns)
        return (struct tl_position){place, 0};
    uint32_t inner = columns - 1, at = place - columns, row = 1 + at / inner;
    if (row >= rows)
        return (struct tl_position){0, rows - 1 - (at - (rows - 1) * inner)};
    return (struct tl_position){row % 2 ? columns - 1 - at % inner : 1 + at % inner, row};
}

static struct tl_position cycle(uint32_t columns, uint32_t rows, uint32_t place)
{
    if (rows == 1)
        return (struct tl_position){place, 0};
    if (columns == 1)
        return (struct tl_position){0, place};
    if (rows % 2 == 0)
        return even_rows(columns, rows, place);
    struct tl_position turned = even_rows(rows, columns, place);
    return (struct tl_position){turned.y, turned.x};
}

static void measure(struct tl *tl, struct kit_ring *ring)
{
    ring->size = tl_num_programs(tl, ring->axis);
    for (uint32_t i = 0; i < ring->size; i++) {
        struct tl_position at = tl_position(tl, ring->axis, i);
        ring->columns = at.x >= ring->columns ? at.x + 1 : ring->columns;
        ring->rows = at.y >= ring->rows ? at.y + 1 : ring->rows;
    }
}

static uint32_t index_at(struct tl *tl, const struct kit_ring *ring, uint32_t place)
{
    return tl_index_at(tl, ring->axis, cycle(ring->columns, ring->rows, place));
}

static uint32_t place_of(struct tl *tl, const struct kit_ring *ring)
{
    uint32_t place = 0;
    while (place < ring->size - 1 && index_at(tl, ring, place) != tl_program_id(tl, ring->axis))
        place++;
    return place;
}

static bool has_cycle(const struct kit_ring *ring, bool wraps)
{
    if (ring->columns == 1 || ring->rows == 1)
        return ring->size == 2 || wraps;
    return ring->size % 2 == 0;
}

/* The queue to the neighbour at `place`, over the wrap link where the grid does not have it. */
static enum tl_queue queue_to(struct tl *tl, const struct kit_ring *ring, bool wraps,
                              uint32_t place)
{
    if (wraps && ring->place == 0 && place == ring->size - 1)
        return TL_CUBE_W;
    if (wraps && place == 0 && ring->place == ring->size - 1)
        return TL_CUBE_E;
    return tl_queue_to(tl, ring->axis, index_at(tl, ring, place));
}

struct kit_ring kit_ring_of(struct tl *tl, const struct tl_launch *launch, enum tl_axis axis)
{
    struct kit_ring ring = {.axis = axis};
    measure(tl, &ring);
    bool wraps = axis == TL_AXIS_CUBE && launch->cube_wraps && ring.rows == 1 && ring.size > 2;
    if (ring.size == 1)
        return ring;
    if (!has_cycle(&ring, wraps))
        tl_fail(tl, "a grid of %u x %u %ss has no ring of neighbours", ring.columns, ring.rows,
                axis == TL_AXIS_PE ? "PE" : "CUBE");
    ring.place = place_of(tl, &ring);
    ring.next = queue_to(tl, &ring, wraps, (ring.place + 1) % ring.size);
    ring.previous = queue_to(tl, &ring, wraps, (ring.place + ring.size - 1) % ring.size);
    return ring;
}

uint32_t kit_ring_source(struct tl *tl, const struct kit_ring *ring, uint32_t steps)
{
    if (ring->size == 1)
        return tl_program_id(tl, ring->axis);
    return index_at(tl, ring, (ring->place + ring->size - steps) % ring->size);
}
