#include "machine/lookahead/flows.h"

#include "machine/parts/network/route.h"

struct counter {
    struct scout_sink sink; /* first: the fold finds the counter by it */
    const struct machine_params *params;
    uint32_t cube;
    uint64_t *links;
    uint64_t emissions;
};

static void add_route(const struct counter *counter, uint32_t from, uint32_t to, uint64_t packets)
{
    uint32_t link;
    while (from != to) {
        uint32_t next = route_next(&counter->params->geometry, from, to, &link);
        counter->links[from * CUBE_LINKS + link] += packets;
        from = next;
    }
}

/* A send is cut into packets of at most a slot; a receive returns a credit for each. */
static bool count(struct scout_sink *sink, const struct command *command)
{
    struct counter *counter = (struct counter *)sink;
    const struct machine_params *params = counter->params;
    struct peer peer;
    if (!command_emits(command))
        return false;
    counter->emissions++;
    if (queue_peer(&params->geometry, counter->cube, 0, (enum queue_id)command->queue, &peer))
        add_route(counter, counter->cube, peer.cube, ipcq_fragments(params, command));
    return false;
}

uint64_t flows_add(const struct machine_params *params, uint32_t cube, struct program *program,
                   uint64_t *links)
{
    struct counter counter = {{count}, params, cube, links, 0};
    while (!program_stopped(program) && program->ops->scout(program, &counter.sink))
        continue;
    return program_stopped(program) ? UINT64_MAX : counter.emissions;
}

bool flows_neighbour(const struct geometry *geometry, uint32_t cube, uint32_t link,
                     uint32_t *neighbour)
{
    enum direction direction = (enum direction)(link % DIRECTIONS);
    if (link < DIRECTIONS)
        return cube_neighbour(geometry, cube, direction, neighbour) && *neighbour != cube;
    return cube % grid_size(geometry->cubes) == 0 &&
           sip_neighbour(geometry, cube, direction, neighbour);
}
