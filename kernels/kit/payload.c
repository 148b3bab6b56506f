#include "kernels/kit/payload.h"

struct kit_range kit_range_part(struct kit_range range, uint32_t parts, uint32_t i)
{
    uint32_t first = (uint32_t)((uint64_t)range.count * i / parts);
    uint32_t end = (uint32_t)((uint64_t)range.count * (i + 1) / parts);
    return (struct kit_range){range.first + first, end - first};
}

struct kit_payload kit_payload_of_vector(struct tl_tensor vector)
{
    return (struct kit_payload){.units = vector.rows, .vector = vector};
}

struct kit_payload kit_payload_of_state(const struct kit_state *state)
{
    struct kit_payload payload = {.units = state->o.rows, .is_state = true, .state = *state};
    payload.state.packed = false;
    return payload;
}

struct kit_payload kit_payload_slice(struct tl *tl, const struct kit_payload *payload,
                                     struct kit_range range)
{
    if (!payload->is_state)
        return kit_payload_of_vector(tl_rows(tl, payload->vector, range.first, range.count));
    struct kit_state part = {.m = tl_rows(tl, payload->state.m, range.first, range.count),
                             .l = tl_rows(tl, payload->state.l, range.first, range.count),
                             .o = tl_rows(tl, payload->state.o, range.first, range.count)};
    return kit_payload_of_state(&part);
}

struct kit_payload kit_payload_like(struct tl *tl, const struct kit_payload *payload,
                                    uint32_t count)
{
    if (!payload->is_state)
        return kit_payload_of_vector(tl_empty(tl, count, 1, TL_F32));
    struct kit_state state = kit_state_new(tl, count, payload->state.o.cols, false);
    return kit_payload_of_state(&state);
}

void kit_payload_send(struct tl *tl, enum tl_queue queue, const struct kit_payload *payload)
{
    if (payload->is_state)
        kit_state_send(tl, queue, &payload->state);
    else
        tl_send(tl, queue, payload->vector);
}

void kit_payload_receive(struct tl *tl, enum tl_queue queue, const struct kit_payload *payload)
{
    if (payload->is_state)
        kit_state_receive(tl, queue, &payload->state);
    else
        tl_recv_to(tl, queue, payload->vector);
}

void kit_payload_merge(struct tl *tl, const struct kit_payload *into,
                       const struct kit_payload *other)
{
    if (!into->is_state) {
        tl_add_to(tl, into->vector, into->vector, other->vector);
        return;
    }
    TL_SCRATCH_SCOPE(tl)
    {
        kit_state_absorb(tl, &into->state, &other->state);
    }
}
