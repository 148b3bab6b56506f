/* What a collective reduces: a vector of f32 that are summed, or the (m, l, O) of some rows, which
 * are merged. Units are elements or rows; ranges of them are reduced on their own. */
#ifndef AHBM_KERNELS_PAYLOAD_H
#define AHBM_KERNELS_PAYLOAD_H

#include <ahbm/tl.h>

#include <ahbm/kit/state.h>

struct kit_payload {
    uint32_t units;
    bool is_state;
    struct tl_tensor vector; /* [units, 1] f32 */
    struct kit_state state;  /* of `units` rows; travels as three copies */
};

/* Units [first, first + count). */
struct kit_range {
    uint32_t first, count;
};

/* The i-th of `parts` nearly equal parts. */
struct kit_range kit_range_part(struct kit_range range, uint32_t parts, uint32_t i);

struct kit_payload kit_payload_of_vector(struct tl_tensor vector);
struct kit_payload kit_payload_of_state(const struct kit_state *state);

/* The units of a range, in place; the range is not empty. */
struct kit_payload kit_payload_slice(struct tl *tl, const struct kit_payload *payload,
                                     struct kit_range range);

/* Room for `count` units of the same kind, without values. */
struct kit_payload kit_payload_like(struct tl *tl, const struct kit_payload *payload,
                                    uint32_t count);

void kit_payload_send(struct tl *tl, enum tl_queue queue, const struct kit_payload *payload);
void kit_payload_receive(struct tl *tl, enum tl_queue queue, const struct kit_payload *payload);

/* `into` becomes both together; the values of `other` are lost. */
void kit_payload_merge(struct tl *tl, const struct kit_payload *into,
                       const struct kit_payload *other);

#endif
