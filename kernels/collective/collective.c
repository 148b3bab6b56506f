#include "kernels/collective/collective.h"

#include "kernels/collective/collective_steps.h"
#include "kernels/decode/decode_request.h"

enum { F32_BYTES = 4 };

/* Reduces a payload; true where the result is to be stored. */
typedef bool collective(struct tl *tl, const struct tl_launch *launch,
                        const struct kit_payload *payload);

static bool reduce(struct tl *tl, const struct tl_launch *launch, const struct kit_payload *payload)
{
    return step_reduce(tl, TL_AXIS_PE, launch->reduce_pe, payload) &&
           step_reduce(tl, TL_AXIS_CUBE, launch->reduce_cube, payload);
}

static bool allreduce(struct tl *tl, const struct tl_launch *launch,
                      const struct kit_payload *payload)
{
    if (step_reduce(tl, TL_AXIS_PE, launch->reduce_pe, payload)) {
        step_reduce(tl, TL_AXIS_CUBE, launch->reduce_cube, payload);
        step_broadcast(tl, TL_AXIS_CUBE, launch->reduce_cube, payload);
    }
    step_broadcast(tl, TL_AXIS_PE, launch->reduce_pe, payload);
    return true;
}

static bool allreduce_ring(struct tl *tl, const struct tl_launch *launch,
                           const struct kit_payload *payload)
{
    if (step_reduce(tl, TL_AXIS_PE, launch->reduce_pe, payload)) {
        struct kit_ring cubes = kit_ring_of(tl, launch, TL_AXIS_CUBE);
        struct kit_range all = {0, payload->units};
        step_scatter(tl, &cubes, payload, all);
        step_gather(tl, &cubes, payload, all);
    }
    step_broadcast(tl, TL_AXIS_PE, launch->reduce_pe, payload);
    return true;
}

/* Down the levels each PE keeps a smaller part, up again they are put together. The (m, l, O) of a
 * KV head stays in its SIP. */
static bool allreduce_hierarchical(struct tl *tl, const struct tl_launch *launch,
                                   const struct kit_payload *payload)
{
    enum { LEVELS = 3 };
    static const enum tl_axis axes[LEVELS] = {TL_AXIS_PE, TL_AXIS_CUBE, TL_AXIS_SIP};
    uint32_t levels = payload->is_state ? 2 : 3;
    struct kit_ring rings[LEVELS];
    struct kit_range ranges[LEVELS + 1] = {{0, payload->units}};
    for (uint32_t i = 0; i < levels; i++) {
        rings[i] = kit_ring_of(tl, launch, axes[i]);
        ranges[i + 1] = step_scatter(tl, &rings[i], payload, ranges[i]);
    }
    for (uint32_t i = levels; i > 0; i--)
        step_gather(tl, &rings[i - 1], payload, ranges[i - 1]);
    return true;
}

/* ---- a message ---- */

/* Elements that are worked on at a time: two of them, with alignment, are half of the scratch. */
static uint64_t panel_elements(const struct tl_launch *launch)
{
    uint64_t elements = launch->scratch_bytes / 4 / F32_BYTES;
    return elements > 64 ? elements - 64 : 1;
}

static void run_panel(struct tl *tl, const struct tl_launch *launch, collective *operation,
                      uint64_t first, uint32_t count)
{
    uint64_t offset = first * F32_BYTES;
    struct tl_tensor vector =
        tl_load(tl, tl_ref(tl, launch->pe, launch->q_base + offset, count, 1, TL_F32));
    struct kit_payload payload = kit_payload_of_vector(vector);
    if (operation(tl, launch, &payload))
        tl_store(tl, tl_ref(tl, launch->pe, launch->o_base + offset, count, 1, TL_F32), vector);
}

static void run_message(struct tl *tl, const struct tl_launch *launch, collective *operation)
{
    uint64_t elements = launch->message / F32_BYTES, most = panel_elements(launch);
    if (launch->message % F32_BYTES != 0)
        tl_fail(tl, "a message of %llu bytes: it must be whole numbers of 4",
                (unsigned long long)launch->message);
    for (uint64_t first = 0; first < elements; first += most) {
        uint64_t left = elements - first;
        TL_SCRATCH_SCOPE(tl)
        {
            run_panel(tl, launch, operation, first, (uint32_t)(left < most ? left : most));
        }
    }
}

/* ---- (m, l, O) ---- */

static void run_state(struct tl *tl, const struct tl_launch *launch, collective *operation)
{
    decode_check(tl, launch);
    for (uint32_t request = 0; request < launch->batch; request++)
        TL_SCRATCH_SCOPE(tl)
        {
            struct kit_state state = decode_sweep(tl, launch, request, launch->pe);
            struct kit_payload payload = kit_payload_of_state(&state);
            if (operation(tl, launch, &payload))
                decode_store(tl, launch, request, &state);
        }
}

static void run(struct tl *tl, const struct tl_launch *launch, collective *operation)
{
    if (!launch->cube_sp || !launch->pe_sp)
        tl_fail(tl, "a collective takes all PEs of the group");
    if (launch->message > 0)
        run_message(tl, launch, operation);
    else
        run_state(tl, launch, operation);
}

void kernel_reduce(struct tl *tl, const struct tl_launch *launch)
{
    run(tl, launch, reduce);
}

void kernel_allreduce(struct tl *tl, const struct tl_launch *launch)
{
    run(tl, launch, allreduce);
}

void kernel_allreduce_ring(struct tl *tl, const struct tl_launch *launch)
{
    run(tl, launch, allreduce_ring);
}

void kernel_allreduce_hierarchical(struct tl *tl, const struct tl_launch *launch)
{
    run(tl, launch, allreduce_hierarchical);
}
