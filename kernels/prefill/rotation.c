#include "kernels/prefill/rotation.h"

enum { OUTER_DEPTH = 2 /* beside inner buffers */ };

struct rotation rotation_of(struct tl *tl, const struct tl_launch *launch)
{
    struct rotation rotation = {.launch = launch};
    if (launch->ring_depth < 2 || launch->ring_depth > ROTATION_DEPTH_MAX)
        tl_fail(tl, "a ring of %u buffers: 2 to %d are allowed", launch->ring_depth,
                ROTATION_DEPTH_MAX);
    rotation.cubes = kit_ring_of(tl, launch, TL_AXIS_CUBE);
    rotation.pes = launch->pe_sp ? (struct kit_ring){.axis = TL_AXIS_PE, .size = 1}
                                 : kit_ring_of(tl, launch, TL_AXIS_PE);
    rotation.turns = key_slots(launch) * rotation.cubes.size;
    rotation.outer_depth = rotation.pes.size > 1 ? OUTER_DEPTH : launch->ring_depth;
    rotation.inner_depth = launch->ring_depth;
    return rotation;
}

struct step rotation_next(const struct rotation *rotation, struct step step)
{
    if (step.inner + 1 < rotation->pes.size)
        return (struct step){step.turn, step.inner + 1};
    return (struct step){step.turn + 1, 0};
}

struct step rotation_end(const struct rotation *rotation)
{
    return (struct step){rotation->turns, 0};
}

struct key_tile rotation_tile(struct tl *tl, const struct rotation *rotation, struct step step)
{
    uint32_t cubes = rotation->cubes.size;
    uint32_t cube = kit_ring_source(tl, &rotation->cubes, (uint32_t)(step.turn % cubes));
    uint32_t pe = kit_ring_source(tl, &rotation->pes, step.inner);
    return key_tile(rotation->launch, cube, pe, step.turn / cubes);
}

/* The number of a step with inner > 0 among those. */
static uint64_t inner_number(const struct rotation *rotation, struct step step)
{
    return step.turn * (rotation->pes.size - 1) + step.inner - 1;
}

static struct kv buffer_of(struct tl *tl, const struct rotation *rotation, struct step step,
                           uint32_t width)
{
    const struct kv *kv =
        step.inner == 0 ? &rotation->outer[step.turn % rotation->outer_depth]
                        : &rotation->inner[inner_number(rotation, step) % rotation->inner_depth];
    uint32_t dim = rotation->launch->head_dim;
    return (struct kv){kit_tile_part(tl, kv->k, dim, width), kit_tile_part(tl, kv->v, width, dim)};
}

static void load(struct tl *tl, const struct rotation *rotation, uint64_t slot, struct kv kv)
{
    const struct tl_launch *launch = rotation->launch;
    struct kv home = key_home(tl, launch, launch->pe, rotation->request, slot, kv.k.cols);
    tl_load_to(tl, kv.k, home.k);
    tl_load_to(tl, kv.v, home.v);
}

static void receive(struct tl *tl, enum tl_queue queue, struct kv kv)
{
    tl_recv_async_to(tl, queue, kv.k);
    tl_recv_async_to(tl, queue, kv.v);
}

static void send(struct tl *tl, enum tl_queue queue, struct kv kv)
{
    tl_send(tl, queue, kv.k);
    tl_send(tl, queue, kv.v);
}

static void fill(struct tl *tl, const struct rotation *rotation, struct step step)
{
    uint32_t cubes = rotation->cubes.size;
    if (step.turn >= rotation->turns)
        return;
    struct key_tile tile = rotation_tile(tl, rotation, step);
    if (tile.width == 0)
        return;
    struct kv kv = buffer_of(tl, rotation, step, tile.width);
    if (step.inner > 0)
        receive(tl, rotation->pes.previous, kv);
    else if (step.turn % cubes > 0)
        receive(tl, rotation->cubes.previous, kv);
    else
        load(tl, rotation, step.turn / cubes, kv);
}

static void fill_inner(struct tl *tl, const struct rotation *rotation, uint64_t number)
{
    uint32_t per_turn = rotation->pes.size - 1;
    fill(tl, rotation, (struct step){number / per_turn, (uint32_t)(number % per_turn) + 1});
}

static struct kv new_buffer(struct tl *tl, const struct tl_launch *launch)
{
    return (struct kv){tl_empty(tl, launch->head_dim, launch->tile, TL_BF16),
                       tl_empty(tl, launch->tile, launch->head_dim, TL_BF16)};
}

void rotation_start(struct tl *tl, struct rotation *rotation, uint32_t request)
{
    bool inner = rotation->pes.size > 1;
    rotation->request = request;
    for (uint32_t i = 0; i < rotation->outer_depth; i++)
        rotation->outer[i] = new_buffer(tl, rotation->launch);
    for (uint32_t i = 0; inner && i < rotation->inner_depth; i++)
        rotation->inner[i] = new_buffer(tl, rotation->launch);
    for (uint32_t i = 0; i + 1 < rotation->outer_depth; i++)
        fill(tl, rotation, (struct step){i, 0});
    for (uint32_t i = 0; inner && i + 1 < rotation->inner_depth; i++)
        fill_inner(tl, rotation, i);
}

struct kv rotation_take(struct tl *tl, const struct rotation *rotation, struct step step)
{
    struct key_tile tile = rotation_tile(tl, rotation, step);
    if (tile.width == 0)
        return (struct kv){0};
    struct kv kv = buffer_of(tl, rotation, step, tile.width);
    if (step.inner == 0 && step.turn % rotation->cubes.size + 1 < rotation->cubes.size)
        send(tl, rotation->cubes.next, kv);
    if (step.inner + 1 < rotation->pes.size)
        send(tl, rotation->pes.next, kv);
    return kv;
}

void rotation_refill(struct tl *tl, const struct rotation *rotation, struct step step)
{
    if (step.inner == 0)
        fill(tl, rotation, (struct step){step.turn + rotation->outer_depth - 1, 0});
    else
        fill_inner(tl, rotation, inner_number(rotation, step) + rotation->inner_depth - 1);
}
