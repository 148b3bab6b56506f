#include "study/rehearse.h"

#include "pdes/engine.h"
#include "study/plan.h"
#include "study/problem.h"
#include "study/traffic.h"

/* However many PEs there are, each gets past its start and its first tiles. */
enum { LEAST_COMMANDS = 1000 };

static bool stopped(const struct study_options *options)
{
    return options->stop != NULL && *options->stop;
}

/* Whether up to `most` commands of a PE's program record. */
static bool record(struct program *program, uint64_t most, struct error *err)
{
    for (uint64_t i = 0; i < most; i++) {
        enum op op = (enum op)program->ops->next(program)->op;
        if (op == OP_FAIL)
            return error_set(err, ERROR_USAGE, "%s", program->error.text);
        if (op == OP_END)
            return true;
    }
    return true;
}

static bool rehearse_cube(const struct problem *problem, const struct study_options *options,
                          uint32_t cube, struct error *err)
{
    uint32_t within, group = problem_group(problem, cube, &within), pes = problem->launch.pes;
    uint64_t share = REHEARSE_COMMANDS / geometry_cubes(&problem->params->geometry) / pes;
    uint64_t most = share > LEAST_COMMANDS ? share : LEAST_COMMANDS;
    if (group == NO_GROUP)
        return true;
    for (uint32_t pe = 0; pe < pes && !stopped(options); pe++) {
        struct program *program = traffic_program(problem, options, group, within, cube, pe);
        bool good = record(program, most, err);
        program->ops->destroy(program);
        if (!good)
            return false;
    }
    return true;
}

/* The CUBEs of this process, of one point. */
static bool rehearse_point(const struct group *group, const struct hw_params *params,
                           const struct plan_point *at, struct error *err)
{
    uint32_t first = 0, count = geometry_cubes(&params->geometry);
    struct study_options options = at->options;
    struct problem problem;
    options.record_ahead = STUDY_DEFAULT_RECORD_AHEAD;
    problem_init(&problem, params, &options, at->case_number, at->context);
    if (group != NULL)
        engine_block(count, group->size, group->rank, &first, &count);
    for (uint32_t i = 0; i < count && !stopped(&options); i++)
        if (!rehearse_cube(&problem, &options, first + i, err))
            return plan_error(at, err);
    return true;
}

bool rehearse(const struct group *group, const struct hw_params *params,
              const struct study_options *options, struct error *err)
{
    for (uint32_t i = 0; i < plan_points(options); i++) {
        struct plan_point at = plan_point(options, i);
        rehearse_point(group, params, &at, err);
        if (group != NULL ? !group_agree(group, err) : err->code != ERROR_NONE)
            return false;
    }
    return true;
}
