#include "study/problem.h"

#include <string.h>

#include "kernels/placement.h"

enum { ADDRESS_ALIGN = 4096, ELEMENT_BYTES = 2 /* bf16 */ };

static bool group_grid(uint32_t cubes, struct grid *grid)
{
    switch (cubes) {
    case 1:
        *grid = (struct grid){1, 1};
        return true;
    case 4:
        *grid = (struct grid){2, 2};
        return true;
    case 8:
        *grid = (struct grid){4, 2};
        return true;
    default:
        return false;
    }
}

static struct grid groups_per_sip(const struct geometry *geometry, struct grid group)
{
    return (struct grid){geometry->cubes.columns / group.columns,
                         geometry->cubes.rows / group.rows};
}

/* Whether the keys and values of all requests have addresses in one share, with room to spare. */
static bool addresses_fit(const struct hw_params *params, const struct study_options *options)
{
    uint64_t longest = 0, bytes;
    for (uint32_t i = 0; i < options->contexts_count; i++)
        longest = options->contexts[i] > longest ? options->contexts[i] : longest;
    return !__builtin_mul_overflow(longest + options->tile, options->batch, &bytes) &&
           !__builtin_mul_overflow(bytes, params->model.head_dim * 4 * ELEMENT_BYTES, &bytes);
}

bool problem_check(const struct hw_params *params, const struct study_options *options,
                   struct error *err)
{
    struct grid group;
    const struct geometry *geometry = &params->geometry;
    if (!group_grid(options->cubes_per_group, &group))
        return error_set(err, ERROR_USAGE,
                         "--cubes-per-group: %u is not allowed (allowed: 1, 4, 8)",
                         options->cubes_per_group);
    if (grid_size(groups_per_sip(geometry, group)) == 0)
        return error_set(err, ERROR_USAGE,
                         "--cubes-per-group: a group of %u CUBEs is %u x %u, but a SIP of this "
                         "machine has %u x %u CUBEs (topology.cubes_x, topology.cubes_y)",
                         options->cubes_per_group, group.columns, group.rows,
                         geometry->cubes.columns, geometry->cubes.rows);
    if (options->kernel != NULL && kernel_find(options->kernel) == NULL)
        return error_set(err, ERROR_USAGE, "--kernel: there is no kernel '%s' (see --list-kernels)",
                         options->kernel);
    if (options->phase == TL_PHASE_DECODE && options->query_len != 1)
        return error_set(err, ERROR_USAGE, "--query-len: %u is not allowed (allowed: 1 in decode)",
                         options->query_len);
    if (!addresses_fit(params, options))
        return error_set(err, ERROR_USAGE,
                         "--context, --batch: %u requests of this length do not fit into 64-bit "
                         "addresses",
                         options->batch);
    if (options->phase != TL_PHASE_DECODE)
        return error_set(err, ERROR_USAGE, "--phase: '%s' has no kernel yet (allowed: decode)",
                         phase_name(options->phase));
    return true;
}

static uint64_t align(uint64_t bytes)
{
    return (bytes + ADDRESS_ALIGN - 1) / ADDRESS_ALIGN * ADDRESS_ALIGN;
}

/* The same addresses in every PE's share, large enough for the largest shard. */
static void place(struct problem *problem)
{
    struct tl_launch *launch = &problem->launch;
    uint64_t row_bytes = (uint64_t)launch->head_dim * ELEMENT_BYTES;
    uint64_t rows = (uint64_t)launch->group_heads * launch->query_len;
    uint32_t ranks = placement_ranks(launch);
    uint64_t shard = (launch->context + ranks - 1) / ranks;
    uint64_t padded = (shard + launch->tile - 1) / launch->tile * launch->tile;
    launch->q_base = 0;
    launch->q_stride = align(rows * row_bytes);
    launch->o_base = launch->q_base + launch->batch * launch->q_stride;
    launch->o_stride = launch->q_stride;
    launch->k_base = launch->o_base + launch->batch * launch->o_stride;
    launch->kv_stride = align(padded * row_bytes);
    launch->v_base = launch->k_base + launch->batch * launch->kv_stride;
}

void problem_init(struct problem *problem, const struct hw_params *params,
                  const struct study_options *options, uint32_t case_number, uint64_t context)
{
    memset(problem, 0, sizeof *problem);
    problem->params = params;
    problem->case_number = case_number;
    problem->kernel = kernel_find(options->kernel ? options->kernel : phase_name(options->phase));
    group_grid(options->cubes_per_group, &problem->group);
    struct grid per_sip = groups_per_sip(&params->geometry, problem->group);
    problem->groups = grid_size(params->geometry.sips) * grid_size(per_sip);
    problem->launch = (struct tl_launch){
        .group_cubes = options->cubes_per_group,
        .cube_columns = problem->group.columns,
        .cube_rows = problem->group.rows,
        .pe_columns = params->geometry.pes.columns,
        .pe_rows = params->geometry.pes.rows,
        .pes = grid_size(params->geometry.pes),
        .phase = options->phase,
        .context = context,
        .batch = options->batch,
        .query_len = options->query_len,
        .group_heads = (uint32_t)(params->model.query_heads / params->model.kv_heads),
        .head_dim = (uint32_t)params->model.head_dim,
        .cube_sp = case_number == 1 || case_number == 4,
        .pe_sp = case_number == 3 || case_number == 4,
        .tp_redundant = options->tp_redundant,
        .form = options->form,
        .gemm = options->gemm,
        .tile = options->tile,
        .reduce_pe = options->reduce_pe,
        .reduce_cube = options->reduce_cube,
        .packed = options->packed,
    };
    place(problem);
}

uint32_t problem_group(const struct problem *problem, uint32_t cube, uint32_t *within)
{
    const struct geometry *geometry = &problem->params->geometry;
    struct grid per_sip = groups_per_sip(geometry, problem->group);
    struct position at = cube_position(geometry, cube);
    uint32_t column = at.x / problem->group.columns, row = at.y / problem->group.rows;
    if (column >= per_sip.columns || row >= per_sip.rows)
        return NO_GROUP;
    struct position inside = {at.x % problem->group.columns, at.y % problem->group.rows};
    *within = grid_index(problem->group, inside);
    uint32_t sip = cube / grid_size(geometry->cubes);
    return sip * grid_size(per_sip) + row * per_sip.columns + column;
}

struct tl_launch problem_launch(const struct problem *problem, uint32_t group, uint32_t cube,
                                uint32_t pe)
{
    struct tl_launch launch = problem->launch;
    launch.group = group;
    launch.cube = cube;
    launch.pe = pe;
    return launch;
}

struct footprint problem_footprint(const struct problem *problem, uint32_t cube, uint32_t pe)
{
    const struct tl_launch *launch = &problem->launch;
    struct footprint footprint = {0, 0, 0};
    uint32_t within, ranks = placement_ranks(launch);
    if (problem_group(problem, cube, &within) == NO_GROUP)
        return footprint;
    uint64_t row_bytes = (uint64_t)launch->head_dim * ELEMENT_BYTES;
    uint64_t q_bytes = (uint64_t)launch->group_heads * launch->query_len * row_bytes;
    for (uint32_t request = 0; request < launch->batch; request++) {
        if (launch->pe_sp || pe == placement_worker(launch, request))
            footprint.kv_bytes +=
                2 * row_bytes *
                placement_tokens(launch->context, ranks, placement_rank(launch, within, pe),
                                 request % ranks);
        if (placement_pe_works(launch, within, pe, request))
            footprint.q_bytes += q_bytes;
    }
    return footprint;
}
