#include <ahbm/kit/reduce.h>

/* A level seen from its root. */
struct level {
    struct tl *tl;
    enum tl_axis axis;
    enum tl_reduce shape;
    uint32_t size;
    uint32_t columns, rows;
    struct tl_position root;
};

static const char *const shape_names[] = {"chain", "tree", "centre"};

static struct level level_of(struct tl *tl, enum tl_axis axis, enum tl_reduce shape)
{
    struct level level = {.tl = tl, .axis = axis, .shape = shape};
    level.size = tl_num_programs(tl, axis);
    level.root = tl_position(tl, axis, level.size - 1);
    for (uint32_t i = 0; i < level.size; i++) {
        struct tl_position at = tl_position(tl, axis, i);
        level.columns = at.x >= level.columns ? at.x + 1 : level.columns;
        level.rows = at.y >= level.rows ? at.y + 1 : level.rows;
    }
    return level;
}

static _Noreturn void unfit(const struct level *level, const char *why)
{
    tl_fail(level->tl, "reduction %s does not fit the %u x %u grid of %ss: %s",
            shape_names[level->shape], level->columns, level->rows,
            level->axis == TL_AXIS_PE ? "PE" : "CUBE", why);
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

static void check_neighbours(const struct level *level, uint32_t a, uint32_t b)
{
    if (b >= level->size)
        unfit(level, "its size is not a power of two");
    struct tl_position from = tl_position(level->tl, level->axis, a);
    struct tl_position to = tl_position(level->tl, level->axis, b);
    if (distance(from.x, to.x) + distance(from.y, to.y) != 1)
        unfit(level, "a pair of it is not a pair of neighbours");
}

static uint32_t trailing_ones(uint32_t i)
{
    uint32_t count = 0;
    for (; i & 1; i >>= 1)
        count++;
    return count;
}

static uint32_t tree_parent(uint32_t i)
{
    return i + (UINT32_C(1) << trailing_ones(i));
}

/* The next position on the snake, which is not asked for the root. */
static struct tl_position chain_next(const struct level *level, struct tl_position at)
{
    struct tl_position root = level->root;
    if (level->rows > 2)
        unfit(level, "it needs one row or two");
    if (at.y != root.y) {
        if (at.x == 0)
            at.y = root.y;
        else
            at.x--;
    } else if (at.x > root.x && at.x + 1 == level->columns) {
        at.y = 1 - root.y;
    } else {
        at.x++;
    }
    return at;
}

static struct tl_position centre_next(const struct level *level, struct tl_position at)
{
    if (at.x != level->root.x)
        at.x += at.x < level->root.x ? 1 : UINT32_MAX;
    else
        at.y += at.y < level->root.y ? 1 : UINT32_MAX;
    return at;
}

/* The index that `i`, which is not the root, sends to. */
static uint32_t parent_of(const struct level *level, uint32_t i)
{
    if (level->shape == TL_REDUCE_TREE)
        return tree_parent(i);
    struct tl_position at = tl_position(level->tl, level->axis, i);
    at = level->shape == TL_REDUCE_CHAIN ? chain_next(level, at) : centre_next(level, at);
    return tl_index_at(level->tl, level->axis, at);
}

static void add_child(struct kit_reduce_node *node, uint32_t child)
{
    node->children[node->count++] = child;
}

static void tree_children(struct kit_reduce_node *node, uint32_t self)
{
    for (uint32_t k = 0; k < trailing_ones(self); k++)
        add_child(node, self - (UINT32_C(1) << k));
}

/* Those neighbours whose parent is `self`. */
static void neighbour_children(const struct level *level, struct kit_reduce_node *node,
                               uint32_t self)
{
    static const struct tl_position steps[] = {
        {UINT32_MAX, 0}, {1, 0}, {0, UINT32_MAX}, {0, 1}}; /* W, E, N, S; they wrap to -1 */
    struct tl_position here = tl_position(level->tl, level->axis, self);
    for (uint32_t i = 0; i < 4; i++) {
        struct tl_position at = {here.x + steps[i].x, here.y + steps[i].y};
        if (at.x >= level->columns || at.y >= level->rows)
            continue;
        uint32_t child = tl_index_at(level->tl, level->axis, at);
        if (child != level->size - 1 && parent_of(level, child) == self)
            add_child(node, child);
    }
}

struct kit_reduce_node kit_reduce_node(struct tl *tl, enum tl_axis axis, enum tl_reduce shape,
                                       uint32_t self)
{
    struct level level = level_of(tl, axis, shape);
    struct kit_reduce_node node = {.root = self == level.size - 1};
    if (!node.root) {
        node.parent = parent_of(&level, self);
        check_neighbours(&level, self, node.parent);
    }
    if (shape == TL_REDUCE_TREE)
        tree_children(&node, self);
    else
        neighbour_children(&level, &node, self);
    for (uint32_t i = 0; i < node.count; i++)
        check_neighbours(&level, self, node.children[i]);
    return node;
}

void kit_reduce_check(struct tl *tl, enum tl_axis axis, enum tl_reduce shape)
{
    if (tl_num_programs(tl, axis) > 1)
        kit_reduce_node(tl, axis, shape, tl_program_id(tl, axis));
}

/* Takes in the state of one child: the merged one is written to `spare`, and the two change names.
 */
static void merge_child(struct tl *tl, enum tl_queue queue, struct kit_state *state,
                        struct kit_state *spare)
{
    TL_SCRATCH_SCOPE(tl)
    {
        struct kit_state other = kit_state_new(tl, state->o.rows, state->o.cols, state->packed);
        kit_state_receive(tl, queue, &other);
        kit_state_merge(tl, spare, state, &other);
    }
    struct kit_state merged = *spare;
    *spare = *state;
    *state = merged;
}

bool kit_reduce_to_root(struct tl *tl, enum tl_axis axis, enum tl_reduce shape,
                        struct kit_state *state)
{
    if (tl_num_programs(tl, axis) == 1)
        return true;
    struct kit_reduce_node node = kit_reduce_node(tl, axis, shape, tl_program_id(tl, axis));
    if (node.count > 0) {
        struct kit_state spare = kit_state_new(tl, state->o.rows, state->o.cols, state->packed);
        for (uint32_t i = 0; i < node.count; i++)
            merge_child(tl, tl_queue_to(tl, axis, node.children[i]), state, &spare);
    }
    if (!node.root)
        kit_state_send(tl, tl_queue_to(tl, axis, node.parent), state);
    return node.root;
}
