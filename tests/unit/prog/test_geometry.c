/* Numbering, neighbours and routes of the three grids. */
#include "../check.h"
#include "prog/geometry.h"

static const struct geometry plain = {{2, 2}, {4, 4}, {4, 2}, false, false, false};
static const struct geometry torus = {{2, 2}, {5, 3}, {4, 2}, true, false, false};

/* Rows `5 7 3 1` and `4 6 2 0`, as the design has them. */
static void test_numbering(void)
{
    static const uint32_t rows[2][4] = {{5, 7, 3, 1}, {4, 6, 2, 0}};
    for (uint32_t y = 0; y < 2; y++)
        for (uint32_t x = 0; x < 4; x++) {
            CU_ASSERT_EQUAL(grid_index(plain.pes, (struct position){x, y}), rows[y][x]);
            struct position at = grid_position(plain.pes, rows[y][x]);
            CU_ASSERT_TRUE(at.x == x && at.y == y);
        }
}

static void test_numbering_is_a_bijection(void)
{
    for (uint32_t columns = 1; columns <= 10; columns++)
        for (uint32_t rows = 1; rows <= 10; rows++) {
            struct grid grid = {columns, rows};
            for (uint32_t i = 0; i < columns * rows; i++) {
                struct position at = grid_position(grid, i);
                CU_ASSERT_TRUE(at.x < columns && at.y < rows);
                CU_ASSERT_EQUAL(grid_index(grid, at), i);
            }
        }
}

/* i and i + 2^k, k the trailing ones of i, are neighbours on grids of up to 4 x 2. */
static void test_tree_pairs_are_neighbours(void)
{
    static const struct grid grids[] = {{1, 2}, {2, 2}, {4, 2}};
    for (int g = 0; g < 3; g++)
        for (uint32_t i = 0; i + 1 < grid_size(grids[g]); i++) {
            uint32_t other = i + (1u << __builtin_ctz(~i));
            struct position a = grid_position(grids[g], i), b = grid_position(grids[g], other);
            uint32_t dx = a.x > b.x ? a.x - b.x : b.x - a.x;
            uint32_t dy = a.y > b.y ? a.y - b.y : b.y - a.y;
            CU_ASSERT_EQUAL(dx + dy, 1);
        }
}

typedef bool neighbour(const struct geometry *geometry, uint32_t from, enum direction direction,
                       uint32_t *to);

/* Going and coming back leads home; returns how many links there are. */
static uint32_t check_symmetry(const struct geometry *geometry, neighbour *next, uint32_t count)
{
    uint32_t links = 0;
    for (uint32_t from = 0; from < count; from++)
        for (int d = 0; d < DIRECTIONS; d++) {
            uint32_t to, back;
            if (!next(geometry, from, (enum direction)d, &to))
                continue;
            links++;
            CU_ASSERT_TRUE(to < count);
            CU_ASSERT_TRUE(next(geometry, to, direction_opposite((enum direction)d), &back));
            CU_ASSERT_EQUAL(back, from);
        }
    return links;
}

static void test_neighbours(void)
{
    CU_ASSERT_EQUAL(check_symmetry(&plain, pe_neighbour, 8), 2 * (3 * 2 + 4));
    CU_ASSERT_EQUAL(check_symmetry(&plain, cube_neighbour, 64), 4 * 2 * (3 * 4 + 4 * 3));
    CU_ASSERT_EQUAL(check_symmetry(&torus, cube_neighbour, 60), 60 * 4);
    CU_ASSERT_EQUAL(check_symmetry(&plain, sip_neighbour, 64), 64 * 2);
}

/* Steps of the dimension-ordered route until it is there. */
static uint32_t walk(struct grid grid, struct position from, struct position to, bool wrap)
{
    uint32_t steps = 0;
    bool turned = false;
    while ((from.x != to.x || from.y != to.y) && steps < 100) {
        enum direction direction = grid_route(grid, from, to, wrap);
        bool vertical = direction == DIR_N || direction == DIR_S;
        CU_ASSERT_TRUE(vertical || !turned); /* x first */
        turned = vertical;
        CU_ASSERT_TRUE_FATAL(grid_step(grid, &from, direction, wrap));
        steps++;
    }
    return steps;
}

static uint32_t apart(uint32_t a, uint32_t b, uint32_t size, bool wrap)
{
    uint32_t straight = a > b ? a - b : b - a;
    return wrap && size - straight < straight ? size - straight : straight;
}

static void test_routes_are_shortest(void)
{
    static const struct grid grids[] = {{4, 4}, {5, 3}, {2, 6}, {1, 7}};
    for (int g = 0; g < 4; g++)
        for (int wrap = 0; wrap <= 1; wrap++) {
            uint32_t count = grid_size(grids[g]), columns = grids[g].columns;
            for (uint32_t a = 0; a < count; a++)
                for (uint32_t b = 0; b < count; b++) {
                    struct position from = {a % columns, a / columns},
                                    to = {b % columns, b / columns};
                    CU_ASSERT_EQUAL(walk(grids[g], from, to, wrap),
                                    apart(from.x, to.x, columns, wrap) +
                                        apart(from.y, to.y, grids[g].rows, wrap));
                }
        }
}

CHECK_MAIN("prog/geometry", CHECK_TEST(test_numbering), CHECK_TEST(test_numbering_is_a_bijection),
           CHECK_TEST(test_tree_pairs_are_neighbours), CHECK_TEST(test_neighbours),
           CHECK_TEST(test_routes_are_shortest))
