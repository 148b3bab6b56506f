/* The routers of the PE mesh are made and taken apart. */
#include "machine/machine.h"
#include "machine/parts/network/mesh.h"
#include "support/memory.h"

static uint64_t blocks_bytes(const struct machine_params *params)
{
    uint64_t channels = params->network.virtual_channels, buffer = params->network.buffer_flits;
    return (MESH_OUTPUTS - 1) * channels *
               (sizeof(struct far_channel) + buffer * sizeof(struct credit)) +
           MESH_INPUTS * channels *
               (sizeof(struct channel) + (buffer + 1) * sizeof(struct worm_part));
}

uint64_t mesh_memory(const struct machine_params *params)
{
    if (!params->network.cut_through)
        return 0;
    return part_block(1, sizeof(struct mesh_router)) + blocks_bytes(params);
}

static void init_output(const struct machine_params *params, struct output *output,
                        struct server *server, bool bounded)
{
    uint64_t channels = params->network.virtual_channels, buffer = params->network.buffer_flits;
    output->server = server;
    output->turn_at = TIME_NEVER;
    if (!bounded)
        return;
    output->far = memory_new(channels, sizeof *output->far);
    for (uint64_t i = 0; i < channels; i++) {
        output->far[i].coming = memory_new(buffer, sizeof *output->far[i].coming);
        output->far[i].credits = (uint32_t)buffer;
    }
}

void mesh_init(struct cube *cube, uint32_t number)
{
    const struct machine_params *params = cube->params;
    uint64_t channels = params->network.virtual_channels, buffer = params->network.buffer_flits;
    if (!params->network.cut_through)
        return;
    struct pe *pe = &cube->pe[number];
    struct mesh_router *router = memory_new(1, sizeof *router);
    pe->router = router;
    router->channels = (uint32_t)channels;
    router->queue_first = router->queue_last = router->free_worm = NO_WORM;
    router->queue_channel = NO_CHANNEL;
    for (uint32_t i = 0; i < DIRECTIONS; i++)
        init_output(params, &router->output[i], &pe->links[i].server, true);
    init_output(params, &router->output[MESH_PE], &router->to_pe, false);
    init_output(params, &router->output[MESH_ENTRY], &router->from_pe, true);
    for (uint32_t i = 0; i < MESH_INPUTS; i++) {
        router->channel[i] = memory_new(channels, sizeof *router->channel[i]);
        for (uint64_t k = 0; k < channels; k++)
            router->channel[i][k].parts =
                memory_new(buffer + 1, sizeof *router->channel[i][k].parts);
    }
}

void mesh_fini(struct pe *pe)
{
    struct mesh_router *router = pe->router;
    if (router == NULL)
        return;
    for (uint32_t i = 0; i < MESH_OUTPUTS; i++) {
        for (uint32_t k = 0; router->output[i].far != NULL && k < router->channels; k++)
            memory_free(router->output[i].far[k].coming);
        memory_free(router->output[i].far);
    }
    for (uint32_t i = 0; i < MESH_INPUTS; i++) {
        for (uint32_t k = 0; k < router->channels; k++)
            memory_free(router->channel[i][k].parts);
        memory_free(router->channel[i]);
    }
    memory_free(router->worms);
    memory_free(router);
}
