#include "study/traffic.h"

#include "machine/lookahead/flows.h"
#include "support/memory.h"

struct tl_program_config traffic_config(const struct problem *problem,
                                        const struct study_options *options, uint32_t group,
                                        uint32_t within, uint32_t cube, uint32_t pe)
{
    const struct machine_params *params = problem->params;
    return (struct tl_program_config){
        .name = problem->kernel->name,
        .kernel = problem->kernel->run,
        .launch = problem_launch(problem, group, within, pe),
        .geometry = &params->geometry,
        .cube = cube,
        .scratch_bytes = params->scratch.bytes,
        .share_bytes = UINT64_MAX, /* "does not fit" is a result, not an error */
        .record_ahead = options->record_ahead,
        .stop = options->stop,
    };
}

struct program *traffic_program(const struct problem *problem, const struct study_options *options,
                                uint32_t group, uint32_t within, uint32_t cube, uint32_t pe)
{
    struct tl_program_config config = traffic_config(problem, options, group, within, cube, pe);
    return tl_program_new(&config);
}

/* Adds what a CUBE of this process sends; `emissions` [pes]. */
static void count_cube(const struct problem *problem, const struct study_options *options,
                       uint32_t cube, uint64_t *links, uint64_t *emissions)
{
    uint32_t within, group = problem_group(problem, cube, &within);
    if (group == NO_GROUP)
        return;
    for (uint32_t pe = 0; pe < problem->launch.pes; pe++) {
        struct program *program = traffic_program(problem, options, group, within, cube, pe);
        emissions[pe] = flows_add(problem->params, cube, program, links);
        program->ops->destroy(program);
    }
}

/* Gives both ends of every used link the lower of their labels, until nothing changes: then CUBEs
 * have one label exactly when they reach each other. */
static void label_cubes(const struct geometry *geometry, const uint64_t *links, uint32_t *labels)
{
    uint32_t cubes = geometry_cubes(geometry), other;
    for (uint32_t cube = 0; cube < cubes; cube++)
        labels[cube] = cube;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < cubes * CUBE_LINKS; i++) {
            uint32_t cube = i / CUBE_LINKS;
            if (links[i] == 0 || !flows_neighbour(geometry, cube, i % CUBE_LINKS, &other) ||
                labels[cube] == labels[other])
                continue;
            uint32_t label = labels[cube] < labels[other] ? labels[cube] : labels[other];
            labels[cube] = labels[other] = label;
            changed = true;
        }
    }
}

/* Groups are numbered in the order of their first CUBE; more than the engine has share some. */
static void tell_groups(struct engine *engine, const struct geometry *geometry,
                        const uint64_t *links)
{
    uint32_t cubes = geometry_cubes(geometry), groups = 0;
    uint32_t *labels = memory_new(cubes, sizeof *labels);
    uint32_t *numbers = memory_new(cubes, sizeof *numbers);
    label_cubes(geometry, links, labels);
    for (uint32_t cube = 0; cube < cubes; cube++) {
        if (labels[cube] == cube)
            numbers[cube] = groups++;
        engine_set_group(engine, cube, numbers[labels[cube]] % ENGINE_GROUPS);
    }
    memory_free(labels);
    memory_free(numbers);
}

void traffic_tell(struct point *point, const struct study_options *options)
{
    const struct geometry *geometry = &point->problem->params->geometry;
    size_t count = (size_t)geometry_cubes(geometry) * CUBE_LINKS;
    uint64_t *links = memory_new(count, sizeof *links);
    for (uint32_t i = 0; i < point->count; i++)
        count_cube(point->problem, options, point->first + i, links,
                   &point->emissions[(size_t)i * point->problem->launch.pes]);
    comm_sum_all(point->comm, links, count);
    tell_groups(point->engine, geometry, links);
    memory_free(links);
}
