#include "study/problem.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/registry.h"
#include "study/kernel.h"
#include "study/own_options.h"
#include "values/region.h"

/* The grid of `cubes` CUBEs; false when there is none. */
static bool group_grid(const struct geometry *geometry, uint32_t cubes, struct grid *grid)
{
    *grid = geometry->cubes;
    if (cubes == grid_size(geometry->cubes))
        return true;
    if (cubes != 1 && cubes != 4 && cubes != 8)
        return false;
    *grid = cubes == 1 ? (struct grid){1, 1} : (struct grid){cubes / 2, 2};
    return true;
}

static struct grid groups_per_sip(const struct geometry *geometry, struct grid group)
{
    return (struct grid){geometry->cubes.columns / group.columns,
                         geometry->cubes.rows / group.rows};
}

/* CUBEs of a group: the option, or the kernel's own number, or the default. */
static uint32_t group_cubes(const struct study_options *options,
                            const struct tl_kernel_info *kernel)
{
    if (options->cubes_per_group != 0)
        return options->cubes_per_group;
    return kernel->group_cubes != 0 ? kernel->group_cubes : STUDY_DEFAULT_CUBES_PER_GROUP;
}

static bool check_group(const struct geometry *geometry, const struct tl_kernel_info *kernel,
                        uint32_t cubes, struct error *err)
{
    struct grid group;
    uint32_t per_sip = grid_size(geometry->cubes);
    if (kernel->group_cubes != 0 && cubes != kernel->group_cubes)
        return error_set(err, ERROR_USAGE, "--cubes-per-group: kernel %s works on groups of %u",
                         kernel->name, kernel->group_cubes);
    if (cubes > per_sip)
        return error_set(err, ERROR_USAGE,
                         "--cubes-per-group: a group of %u CUBEs would span SIPs, which have %u "
                         "CUBEs each (topology.cubes_x, topology.cubes_y): a KV head stays in one "
                         "SIP, because queues between SIPs lead only to the CUBE of equal place",
                         cubes, per_sip);
    if (!group_grid(geometry, cubes, &group))
        return error_set(err, ERROR_USAGE,
                         "--cubes-per-group: %u is not allowed (allowed: 1, 4, 8, and %u, all of a "
                         "SIP)",
                         cubes, per_sip);
    if (grid_size(groups_per_sip(geometry, group)) == 0)
        return error_set(err, ERROR_USAGE,
                         "--cubes-per-group: a group of %u CUBEs is %u x %u, but a SIP of this "
                         "machine has %u x %u CUBEs (topology.cubes_x, topology.cubes_y)",
                         cubes, group.columns, group.rows, geometry->cubes.columns,
                         geometry->cubes.rows);
    return true;
}

static bool check_queries(const struct study_options *options, struct error *err)
{
    if (options->request_contexts != NULL && options->message > 0)
        return error_set(err, ERROR_USAGE,
                         "--message: a message has no requests: leave out --requests");
    for (uint32_t r = 0; options->request_contexts != NULL && r < options->batch; r++)
        if (options->query_len > options->request_contexts[r])
            return error_set(err, ERROR_USAGE,
                             "--query-len: %u positions at the end of request %u, whose context is "
                             "%" PRIu64 " (allowed: 1 to the shortest request)",
                             options->query_len, r + 1, options->request_contexts[r]);
    for (uint32_t i = 0; i < options->contexts_count; i++) {
        uint64_t context = options->contexts[i];
        if (options->query_len > context)
            return error_set(err, ERROR_USAGE,
                             "--query-len: %u positions at the end of a context of %" PRIu64
                             " (allowed: 1 to the context)",
                             options->query_len, context);
    }
    return true;
}

/* Whether the tensors of all requests have addresses in one share, with room to spare. */
static bool check_addresses(const struct machine_params *params,
                            const struct study_options *options,
                            const struct tl_kernel_info *kernel, struct error *err)
{
    uint64_t longest = 0, requests = options->batch ? options->batch : kernel->batch, bytes;
    for (uint32_t i = 0; i < options->contexts_count; i++)
        longest = options->contexts[i] > longest ? options->contexts[i] : longest;
    requests = (requests ? requests : 1) * (kernel->heads_apart ? params->model.query_heads : 1);
    uint64_t row = params->model.head_dim * (params->model.query_heads + 4) * 8; /* Q, O, states */
    row *= options->kv_stack ? grid_size(params->geometry.pes) : 1;
    if (!__builtin_mul_overflow(longest + UINT16_MAX, requests, &bytes) &&
        !__builtin_mul_overflow(bytes, row, &bytes))
        return true;
    return error_set(err, ERROR_USAGE,
                     "--context, --batch: %" PRIu64 " requests of this length do not fit into "
                     "64-bit addresses",
                     requests);
}

/* Whether the kernel can run in every case that is asked for and at every context. */
static bool check_kernel(const struct machine_params *params, const struct study_options *options,
                         struct error *err)
{
    char why[ERROR_TEXT_BYTES];
    struct problem problem;
    for (uint32_t i = 0; i < options->contexts_count; i++)
        for (uint32_t n = 1; n <= CASES; n++) {
            if (!options->cases[n - 1])
                continue;
            problem_init(&problem, params, options, n, options->contexts[i]);
            if (kernel_check(problem.kernel, &problem.launch, why, sizeof why))
                continue;
            error_set(err, ERROR_USAGE, "kernel %s: %s", problem.kernel->name, why);
            error_context(err, "context %" PRIu64, options->contexts[i]);
            return problem.case_number == 0 ? false : error_context(err, "case %u", n);
        }
    return true;
}

bool problem_check(const struct machine_params *params, const struct study_options *options,
                   struct error *err)
{
    uint64_t own[TL_OWN_OPTIONS];
    const struct tl_kernel_info *kernel = kernel_resolve(options, err);
    return kernel != NULL &&
           check_group(&params->geometry, kernel, group_cubes(options, kernel), err) &&
           check_queries(options, err) && own_values(kernel, options, own, err) &&
           check_addresses(params, options, kernel, err) && check_kernel(params, options, err);
}

static void set_geometry(struct problem *problem)
{
    struct tl_launch *launch = &problem->launch;
    const struct geometry *geometry = &problem->params->geometry;
    launch->group_cubes = grid_size(problem->group);
    launch->cube_columns = problem->group.columns;
    launch->cube_rows = problem->group.rows;
    launch->cube_wraps = geometry->cube_torus && problem->group.columns == geometry->cubes.columns;
    launch->pe_columns = geometry->pes.columns;
    launch->pe_rows = geometry->pes.rows;
    launch->pes = grid_size(geometry->pes);
    launch->scratch_bytes = problem->params->scratch.bytes;
    launch->queue_commands = problem->params->ipcq.queue_commands;
    launch->stripe_bytes = machine_stripe(problem->params).unit;
}

static void set_model(struct problem *problem, const struct study_options *options,
                      uint64_t context)
{
    struct tl_launch *launch = &problem->launch;
    const struct machine_params *params = problem->params;
    launch->context = context;
    launch->message = options->message;
    launch->batch = options->batch           ? options->batch
                    : problem->kernel->batch ? problem->kernel->batch
                                             : 1;
    launch->contexts = options->request_contexts;
    launch->query_len = options->query_len;
    launch->group_heads = (uint32_t)(params->model.query_heads / params->model.kv_heads);
    launch->head_dim = (uint32_t)params->model.head_dim;
    launch->request_heads = 1;
    if (problem->kernel->heads_apart) {
        launch->batch *= launch->group_heads;
        launch->request_heads = launch->group_heads;
        launch->group_heads = 1;
    }
}

static void set_placement(struct problem *problem)
{
    struct tl_launch *launch = &problem->launch;
    uint32_t placement = problem->kernel->placement;
    if (placement == TL_PLACE_BY_CASE) {
        launch->cube_sp = problem->case_number == 1 || problem->case_number == 4;
        launch->pe_sp = problem->case_number == 3 || problem->case_number == 4;
        return;
    }
    problem->case_number = 0;
    launch->cube_sp = placement & TL_PLACE_CUBE_SP;
    launch->pe_sp = placement & TL_PLACE_PE_SP;
    launch->one_pe = placement & TL_PLACE_ONE_PE;
}

static void set_options(struct problem *problem, const struct study_options *options)
{
    struct tl_launch *launch = &problem->launch;
#define X(ID, field, ...) launch->field = options->field;
    TL_WORD_OPTIONS(X)
    TL_NUMBER_OPTIONS(X)
#undef X
}

void problem_init(struct problem *problem, const struct machine_params *params,
                  const struct study_options *options, uint32_t case_number, uint64_t context)
{
    struct error ignored = {ERROR_NONE, ""};
    memset(problem, 0, sizeof *problem);
    problem->params = params;
    problem->case_number = case_number;
    problem->kernel = kernel_resolve(options, &ignored);
    group_grid(&params->geometry, group_cubes(options, problem->kernel), &problem->group);
    struct grid per_sip = groups_per_sip(&params->geometry, problem->group);
    problem->groups = grid_size(params->geometry.sips) * grid_size(per_sip);
    set_geometry(problem);
    set_model(problem, options, context);
    set_placement(problem);
    set_options(problem, options);
    own_values(problem->kernel, options, problem->launch.own, &ignored);
    kernel_choose(problem->kernel, &problem->launch);
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

/* Sums what of a layout lies in one share. */
struct weigher {
    struct tl_visitor visitor;
    uint64_t row_bytes;
    struct stripe stripe;
    uint32_t share;
    bool own; /* it is the layout of the share's PE */
    struct footprint footprint;
};

static void weigh(struct tl_visitor *visitor, const struct tl_region *region)
{
    struct weigher *weigher = (struct weigher *)visitor;
    uint64_t bytes = region->rows * weigher->row_bytes;
    if (region->stack) /* only the last block may be ragged: the rows lie without a gap */
        bytes = stripe_bytes(weigher->stripe, region->addr, bytes, weigher->share);
    else if (!weigher->own)
        return;
    if (region->tensor == TL_DATA)
        weigher->footprint.q_bytes += region->bytes;
    else if (region->tensor == TL_TENSOR_Q)
        weigher->footprint.q_bytes += bytes;
    else if (region->tensor != TL_TENSOR_O) /* where it may go: what was written is measured */
        weigher->footprint.kv_bytes += bytes;
}

struct footprint problem_footprint(const struct problem *problem, uint32_t cube, uint32_t pe)
{
    uint32_t within, group = problem_group(problem, cube, &within);
    struct weigher weigher = {.visitor = {weigh},
                              .row_bytes = (uint64_t)problem->launch.head_dim * VALUE_BYTES,
                              .stripe = machine_stripe(problem->params),
                              .share = pe};
    if (group == NO_GROUP)
        return weigher.footprint;
    for (uint32_t other = 0; other < problem->launch.pes; other++) {
        struct tl_launch launch = problem_launch(problem, group, within, other);
        weigher.own = other == pe;
        if (weigher.own || launch.kv_stack)
            kernel_layout(problem->kernel, &launch, &weigher.visitor);
    }
    return weigher.footprint;
}
