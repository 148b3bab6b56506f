#include "study/point.h"

#include "study/deadlock.h"
#include "study/regions.h"
#include "study/traffic.h"
#include "support/memory.h"

static void connect(struct engine *engine, const struct geometry *geometry)
{
    uint32_t cubes = geometry_cubes(geometry), per_sip = grid_size(geometry->cubes), other;
    for (uint32_t cube = 0; cube < cubes; cube++)
        for (int d = 0; d < DIRECTIONS; d++) {
            if (cube_neighbour(geometry, cube, (enum direction)d, &other) && other != cube)
                engine_connect(engine, cube, other);
            if (cube % per_sip == 0 && sip_neighbour(geometry, cube, (enum direction)d, &other))
                engine_connect(engine, cube, other);
        }
}

static void load_programs(const struct point *point, const struct study_options *options,
                          uint32_t i)
{
    const struct problem *problem = point->problem;
    uint32_t within, cube = point->first + i, pes = problem->launch.pes;
    uint32_t group = problem_group(problem, cube, &within);
    if (group == NO_GROUP)
        return;
    for (uint32_t pe = 0; pe < pes; pe++)
        cube_run_program(point->cubes[i], pe,
                         traffic_program(problem, options, group, within, cube, pe),
                         point->emissions[(size_t)i * pes + pe]);
}

/* Lets CUBE `number` compute; NULL when it is left over. */
static struct value_engine *load_values(const struct problem *problem, struct value_source *source,
                                        struct cube *cube, uint32_t number)
{
    struct value_config config = {problem->launch.pes, problem->params->scratch.bytes, source};
    uint32_t within, group = problem_group(problem, number, &within);
    if (group == NO_GROUP)
        return NULL;
    struct value_engine *values = value_engine_new(&config);
    problem_map(problem, group, within, values);
    cube_set_values(cube, values);
    return values;
}

void point_init(struct point *point, const struct comm *comm, const struct problem *problem,
                struct transport *transport, const struct study_options *options,
                struct spool *trace, struct value_source *source)
{
    const struct machine_params *params = problem->params;
    struct engine_config config = {
        .lps = geometry_cubes(&params->geometry),
        .unit_bits = MACHINE_UNIT_BITS,
        .model = cube_model(),
        .transport = transport,
        .stop = options->stop,
        .queue = QUEUE_DEFAULT,
        .crowded = options->ranks_here > options->processors,
    };
    *point = (struct point){.comm = comm,
                            .problem = problem,
                            .source = source,
                            .stop = options->stop,
                            .options = options};
    point->engine = engine_new(&config);
    engine_block(config.lps, transport->size, transport->rank, &point->first, &point->count);
    connect(point->engine, &params->geometry);
    point->emissions =
        memory_new((size_t)point->count * problem->launch.pes, sizeof *point->emissions);
    traffic_tell(point, options);
    point->cubes = memory_new(point->count, sizeof(struct cube *));
    point->values = memory_new(point->count, sizeof(struct value_engine *));
    for (uint32_t i = 0; i < point->count; i++) {
        struct lp *lp = engine_lp(point->engine, point->first + i);
        point->cubes[i] = cube_new(params, lp, trace ? spool_sink(trace, i) : NULL);
        cube_set_lookahead(point->cubes[i], options->lookahead);
        load_programs(point, options, i);
        if (source != NULL)
            point->values[i] = load_values(problem, source, point->cubes[i], point->first + i);
    }
}

void point_fini(struct point *point)
{
    for (uint32_t i = 0; i < point->count; i++) {
        cube_free(point->cubes[i]);
        value_engine_free(point->values[i]);
    }
    memory_free(point->cubes);
    memory_free(point->values);
    memory_free(point->emissions);
    engine_free(point->engine);
}

enum engine_result point_run(struct point *point, struct error *err)
{
    enum engine_result result = engine_run(point->engine, err);
    if (result != ENGINE_DONE)
        return result;
    bool clean = deadlock_check(point->comm, point->problem->kernel->name, point->cubes,
                                point->count, point->problem->launch.pes, err);
    return clean ? ENGINE_DONE : ENGINE_FAILED;
}

static struct cube_footprint room_of(const struct footprint *footprints,
                                     const struct machine_params *params)
{
    unsigned __int128 layer = 0;
    for (uint32_t pe = 0; pe < grid_size(params->geometry.pes); pe++)
        layer += footprints[pe].kv_bytes;
    unsigned __int128 most = UINT64_MAX, all = layer > most ? layer : layer * params->model.layers;
    return (struct cube_footprint){.kv_bytes = (uint64_t)(layer < most ? layer : most),
                                   .kv_bytes_all_layers = (uint64_t)(all < most ? all : most),
                                   .fits = all <= params->hbm.capacity_bytes};
}

void point_measure(const struct point *point, struct measurement *measurement)
{
    uint32_t pes = point->problem->launch.pes;
    measurement->cubes = memory_new(point->count, sizeof *measurement->cubes);
    measurement->pes = memory_new((size_t)point->count * pes, sizeof *measurement->pes);
    measurement->footprints =
        memory_new((size_t)point->count * pes, sizeof *measurement->footprints);
    measurement->rooms = memory_new(point->count, sizeof *measurement->rooms);
    for (uint32_t i = 0; i < point->count; i++) {
        uint32_t within, group = problem_group(point->problem, point->first + i, &within);
        cube_result(point->cubes[i], &measurement->cubes[i]);
        measurement->cubes[i].group = group == NO_GROUP ? UINT64_MAX : group;
        for (uint32_t pe = 0; pe < pes; pe++) {
            struct pe_result *result = &measurement->pes[i * pes + pe];
            struct footprint *footprint = &measurement->footprints[i * pes + pe];
            cube_pe_result(point->cubes[i], pe, result);
            *footprint = problem_footprint(point->problem, point->first + i, pe);
            footprint->o_bytes = result->dma.write_bytes;
        }
        measurement->rooms[i] =
            room_of(&measurement->footprints[(size_t)i * pes], point->problem->params);
    }
    engine_get_stats(point->engine, &measurement->stats);
}

void measurement_fini(struct measurement *measurement)
{
    memory_free(measurement->cubes);
    memory_free(measurement->pes);
    memory_free(measurement->footprints);
    memory_free(measurement->rooms);
}
