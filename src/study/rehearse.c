#include "study/rehearse.h"

#include "pdes/core/engine.h"
#include "study/plan.h"
#include "study/problem.h"
#include "study/regions.h"
#include "study/traffic.h"
#include "tl/rehearsal.h"

/* However many PEs there are, each gets past its start and its first tiles. */
enum { LEAST_COMMANDS = 1000 };

static bool stopped(const struct study_options *options)
{
    return options->stop != NULL && *options->stop;
}

/* The share of a PE in what is recorded of a point. */
static uint64_t most_commands(const struct problem *problem)
{
    uint64_t pes = (uint64_t)geometry_cubes(&problem->params->geometry) * problem->launch.pes;
    return pes * LEAST_COMMANDS > REHEARSE_COMMANDS || pes == 0 ? LEAST_COMMANDS
                                                                : REHEARSE_COMMANDS / pes;
}

static bool rehearse_cube(struct tl_rehearsal *rehearsal, const struct problem *problem,
                          const struct study_options *options, uint32_t cube, struct error *err)
{
    uint32_t within, group = problem_group(problem, cube, &within);
    uint64_t most = most_commands(problem);
    if (group == NO_GROUP)
        return true;
    for (uint32_t pe = 0; pe < problem->launch.pes && !stopped(options); pe++) {
        struct tl_program_config config = traffic_config(problem, options, group, within, cube, pe);
        if (!problem_check_layout(problem, group, within, pe, err) ||
            !tl_rehearse(rehearsal, &config, most, err))
            return false;
    }
    return true;
}

/* The CUBEs of this process, of one point. */
static bool rehearse_point(struct tl_rehearsal *rehearsal, const struct comm *comm,
                           const struct machine_params *params, const struct plan_point *at,
                           struct error *err)
{
    uint32_t first = 0, count = geometry_cubes(&params->geometry);
    struct problem problem;
    problem_init(&problem, params, &at->options, at->case_number, at->context);
    if (comm != NULL)
        engine_block(count, comm->size, comm->rank, &first, &count);
    for (uint32_t i = 0; i < count && !stopped(&at->options); i++)
        if (!rehearse_cube(rehearsal, &problem, &at->options, first + i, err))
            return plan_error(at, err);
    return true;
}

bool rehearse(const struct comm *comm, const struct machine_params *params,
              const struct study_options *options, struct error *err)
{
    struct tl_rehearsal *rehearsal = tl_rehearsal_new();
    uint32_t points = plan_points(options);
    bool good = true;
    for (uint32_t i = 0; good && i < points; i++) {
        struct plan_point at = plan_point(options, i);
        good = rehearse_point(rehearsal, comm, params, &at, err);
        if (comm != NULL)
            good = comm_agree(comm, err);
    }
    tl_rehearsal_free(rehearsal);
    return good;
}
