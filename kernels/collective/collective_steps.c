#include "kernels/collective/collective_steps.h"

#include <ahbm/kit/reduce.h>

static void absorb(struct tl *tl, enum tl_queue queue, const struct kit_payload *into)
{
    TL_SCRATCH_SCOPE(tl)
    {
        struct kit_payload other = kit_payload_like(tl, into, into->units);
        kit_payload_receive(tl, queue, &other);
        kit_payload_merge(tl, into, &other);
    }
}

bool step_reduce(struct tl *tl, enum tl_axis axis, enum tl_reduce shape,
                 const struct kit_payload *payload)
{
    if (tl_num_programs(tl, axis) == 1)
        return true;
    struct kit_reduce_node node = kit_reduce_node(tl, axis, shape, tl_program_id(tl, axis));
    for (uint32_t i = 0; i < node.count; i++)
        absorb(tl, tl_queue_to(tl, axis, node.children[i]), payload);
    if (!node.root)
        kit_payload_send(tl, tl_queue_to(tl, axis, node.parent), payload);
    return node.root;
}

void step_broadcast(struct tl *tl, enum tl_axis axis, enum tl_reduce shape,
                    const struct kit_payload *payload)
{
    if (tl_num_programs(tl, axis) == 1)
        return;
    struct kit_reduce_node node = kit_reduce_node(tl, axis, shape, tl_program_id(tl, axis));
    if (!node.root)
        kit_payload_receive(tl, tl_queue_to(tl, axis, node.parent), payload);
    for (uint32_t i = node.count; i > 0; i--) /* the longest way first */
        kit_payload_send(tl, tl_queue_to(tl, axis, node.children[i - 1]), payload);
}

/* The part of the PE `steps` places behind this one on the ring. */
static struct kit_range part_behind(const struct kit_ring *ring, struct kit_range range,
                                    uint32_t steps)
{
    return kit_range_part(range, ring->size, (ring->place + 2 * ring->size - steps) % ring->size);
}

static void send_part(struct tl *tl, const struct kit_ring *ring, const struct kit_payload *payload,
                      struct kit_range part)
{
    if (part.count == 0)
        return;
    struct kit_payload slice = kit_payload_slice(tl, payload, part);
    kit_payload_send(tl, ring->next, &slice);
}

struct kit_range step_scatter(struct tl *tl, const struct kit_ring *ring,
                              const struct kit_payload *payload, struct kit_range range)
{
    for (uint32_t step = 0; step + 1 < ring->size; step++) {
        struct kit_range part = part_behind(ring, range, step + 1);
        send_part(tl, ring, payload, part_behind(ring, range, step));
        if (part.count == 0)
            continue;
        struct kit_payload slice = kit_payload_slice(tl, payload, part);
        absorb(tl, ring->previous, &slice);
    }
    return part_behind(ring, range, ring->size - 1);
}

void step_gather(struct tl *tl, const struct kit_ring *ring, const struct kit_payload *payload,
                 struct kit_range range)
{
    for (uint32_t step = 0; step + 1 < ring->size; step++) {
        struct kit_range part = part_behind(ring, range, step);
        send_part(tl, ring, payload, part_behind(ring, range, step + ring->size - 1));
        if (part.count == 0)
            continue;
        struct kit_payload slice = kit_payload_slice(tl, payload, part);
        kit_payload_receive(tl, ring->previous, &slice);
    }
}
