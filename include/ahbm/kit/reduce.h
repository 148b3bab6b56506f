/* Reduction of (m, l, O) to the root, the highest index of a level, along physical neighbours.
 *
 * - tree: i sends to i + 2^k, where k is the number of trailing one bits of i; children in the
 *   order of their levels. For powers of two. Of 8 places: 0 to 1, 2 to 3, 4 to 5, 6 to 7, then
 *   1 to 3 and 5 to 7, then 3 to 7.
 * - chain: a snake, from the root's eastern neighbour along the root's row to the east, back to the
 *   west along the other row, and along the root's row to the root. For one or two rows.
 * - centre: along the own row to the root's column, then along that to the root; children in the
 *   order W, E, N, S. */
#ifndef AHBM_KIT_REDUCE_H
#define AHBM_KIT_REDUCE_H

#include <ahbm/tl.h>

#include <ahbm/kit/state.h>

enum { KIT_REDUCE_CHILDREN = 32 };

/* One PE's (CUBE's) place in a reduction. */
struct kit_reduce_node {
    bool root;
    uint32_t parent; /* when not the root */
    uint32_t count;
    uint32_t children[KIT_REDUCE_CHILDREN]; /* in the order in which they are merged */
};

/* The place of index `self`; ends the recording when the shape does not fit the grid. */
struct kit_reduce_node kit_reduce_node(struct tl *tl, enum tl_axis axis, enum tl_reduce shape,
                                       uint32_t self);

/* Ends the recording when the shape does not fit the grid: for a kernel's start, since its
 * reduction comes at the end of what may be a long sweep. */
void kit_reduce_check(struct tl *tl, enum tl_axis axis, enum tl_reduce shape);

/* Merges the states of a level; true on the root, whose `state` then is that of all. Allocates in
 * the scratch scope of the caller. */
bool kit_reduce_to_root(struct tl *tl, enum tl_axis axis, enum tl_reduce shape,
                        struct kit_state *state);

#endif
