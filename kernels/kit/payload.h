/* What a collective reduces: a vector of f32 that are summed, or the (m, l, O) of some rows, which
 * are merged. Units are elements or rows; ranges of them are reduced on their own. */
#ifndef AHBM_KERNELS_PAYLOAD_H
#define AHBM_KERNELS_PAYLOAD_H

#include <ahbm/tl.h>

#include <ahbm/kit/state.h>

struct payload {
    uint32_t units;
    bool is_state;
    struct tl_tensor vector; /* [units, 1] f32 */
    struct kit_state state;  /* of `units` rows; travels as three copies */
};

/* Units [first, first + count). */
struct range {
    uint32_t first, count;
};

/* The i-th of `parts` nearly equal parts. */
struct range range_part(struct range range, uint32_t parts, uint32_t i);

struct payload payload_of_vector(struct tl_tensor vector);
struct payload payload_of_state(const struct kit_state *state);

/* The units of a range, in place; the range is not empty. */
struct payload payload_slice(struct tl *tl, const struct payload *payload, struct range range);

/* Room for `count` units of the same kind, without values. */
struct payload payload_like(struct tl *tl, const struct payload *payload, uint32_t count);

void payload_send(struct tl *tl, enum tl_queue queue, const struct payload *payload);
void payload_receive(struct tl *tl, enum tl_queue queue, const struct payload *payload);

/* `into` becomes both together; the values of `other` are lost. */
void payload_merge(struct tl *tl, const struct payload *into, const struct payload *other);

#endif
