/* The running softmax state (m, l, O) of one request on one PE: row maximum, row sum and
 * unnormalised output, all f32, m and l [rows, 1], O [rows, dim]. */
#ifndef AHBM_KIT_STATE_H
#define AHBM_KIT_STATE_H

#include <ahbm/tl.h>

struct kit_state {
    struct tl_tensor m, l, o;
    struct tl_tensor whole; /* O, m and l, which lie one after another: [rows, dim + 2] */
    bool packed;            /* travels as one copy instead of three */
};

/* In scratch, without values. */
struct kit_state kit_state_new(struct tl *tl, uint32_t rows, uint32_t dim, bool packed);

/* At the start of a tensor that is large enough. */
struct kit_state kit_state_at(struct tl *tl, struct tl_tensor place, uint32_t rows, uint32_t dim,
                              bool packed);

/* That of no token: m the lowest finite f32, l and O zero. */
void kit_state_clear(struct tl *tl, const struct kit_state *state);

void kit_state_send(struct tl *tl, enum tl_queue queue, const struct kit_state *state);

/* Overwrites `state` with one sent by kit_state_send(). */
void kit_state_receive(struct tl *tl, enum tl_queue queue, const struct kit_state *state);

/* The log-sum-exp merge of ADR-0060, section 4: `out` becomes the state of the tokens of `a` and
 * `b` together, whose own values are lost. All three lie apart. */
void kit_state_merge(struct tl *tl, const struct kit_state *out, const struct kit_state *a,
                     const struct kit_state *b);

/* The same in place: `into` becomes the merged state. Allocates in the scratch scope of the caller.
 */
void kit_state_absorb(struct tl *tl, const struct kit_state *into, const struct kit_state *other);

#endif
