#include <ahbm/kit/state.h>

#include <float.h>

/* Elements [first, first + rows * cols) of the packed state. */
static struct tl_tensor part(struct tl *tl, struct tl_tensor whole, uint32_t first, uint32_t rows,
                             uint32_t cols)
{
    struct tl_tensor flat = tl_view(tl, whole, whole.rows * whole.cols, 1);
    return tl_view(tl, tl_rows(tl, flat, first, rows * cols), rows, cols);
}

struct kit_state kit_state_at(struct tl *tl, struct tl_tensor place, uint32_t rows, uint32_t dim,
                              bool packed)
{
    struct kit_state state = {.whole = part(tl, place, 0, rows, dim + 2), .packed = packed};
    state.o = part(tl, place, 0, rows, dim);
    state.m = part(tl, place, rows * dim, rows, 1);
    state.l = part(tl, place, rows * dim + rows, rows, 1);
    return state;
}

struct kit_state kit_state_new(struct tl *tl, uint32_t rows, uint32_t dim, bool packed)
{
    return kit_state_at(tl, tl_empty(tl, rows, dim + 2, TL_F32), rows, dim, packed);
}

void kit_state_clear(struct tl *tl, const struct kit_state *state)
{
    tl_full_to(tl, state->m, -FLT_MAX);
    tl_full_to(tl, state->l, 0);
    tl_full_to(tl, state->o, 0);
}

void kit_state_send(struct tl *tl, enum tl_queue queue, const struct kit_state *state)
{
    if (state->packed) {
        tl_send(tl, queue, state->whole);
        return;
    }
    tl_send(tl, queue, state->m);
    tl_send(tl, queue, state->l);
    tl_send(tl, queue, state->o);
}

void kit_state_receive(struct tl *tl, enum tl_queue queue, const struct kit_state *state)
{
    if (state->packed) {
        tl_recv_to(tl, queue, state->whole);
        return;
    }
    tl_recv_to(tl, queue, state->m);
    tl_recv_to(tl, queue, state->l);
    tl_recv_to(tl, queue, state->o);
}

void kit_state_merge(struct tl *tl, const struct kit_state *out, const struct kit_state *a,
                     const struct kit_state *b)
{
    tl_maximum_to(tl, out->m, a->m, b->m);
    tl_sub_to(tl, a->m, a->m, out->m);
    tl_exp_to(tl, a->m, a->m); /* the factor of a */
    tl_sub_to(tl, b->m, b->m, out->m);
    tl_exp_to(tl, b->m, b->m); /* the factor of b */
    tl_mul_to(tl, a->l, a->l, a->m);
    tl_mul_to(tl, b->l, b->l, b->m);
    tl_add_to(tl, out->l, a->l, b->l);
    tl_mul_to(tl, a->o, a->o, a->m);
    tl_mul_to(tl, b->o, b->o, b->m);
    tl_add_to(tl, out->o, a->o, b->o);
}

void kit_state_absorb(struct tl *tl, const struct kit_state *into, const struct kit_state *other)
{
    struct tl_tensor m = tl_maximum(tl, into->m, other->m);
    struct tl_tensor factor = tl_sub(tl, into->m, m);
    tl_exp_to(tl, factor, factor);
    tl_sub_to(tl, other->m, other->m, m);
    tl_exp_to(tl, other->m, other->m); /* the factor of the other */
    tl_mul_to(tl, into->l, into->l, factor);
    tl_mul_to(tl, other->l, other->l, other->m);
    tl_add_to(tl, into->l, into->l, other->l);
    tl_mul_to(tl, into->o, into->o, factor);
    tl_mul_to(tl, other->o, other->o, other->m);
    tl_add_to(tl, into->o, into->o, other->o);
    tl_maximum_to(tl, into->m, into->m, m);
}
