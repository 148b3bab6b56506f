#include "study/estimate.h"

#include <ahbm/kernel.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "machine/cube.h"
#include "machine/lookahead/flows.h"
#include "machine/message.h"
#include "machine/lookahead/outlook.h"
#include "results/results.h"
#include "results/spool.h"
#include "study/plan.h"
#include "study/problem.h"
#include "study/summary.h"
#include "study/traffic.h"
#include "study/verify.h"
#include "support/memory.h"
#include "support/room.h"
#include "tl/record.h"
#include "values/blas.h"
#include "values/engine.h"

enum {
    SAMPLE_PES = 64,           /* of a group, whose programs are looked at */
    SAMPLE_COMMANDS = 1 << 16, /* of each, at least, with values */
    PENDING_EVENTS = 4,        /* of a PE */
};

/* Measured: what a process has before and beside a study, and what BLAS adds. */
#define PROGRAM_BYTES (UINT64_C(32) << 20)
#define PRESENT_BYTES (UINT64_C(20) << 20) /* of that, when MPI has started */
#define BLAS_BYTES (UINT64_C(6) << 20)

/* What one program asks for. */
struct walk {
    uint64_t commands, records;  /* looked at; of these, the scout's records */
    uint64_t first, end;         /* addresses in HBM that it writes */
    uint64_t scratch, buffers;   /* used; of the largest command */
    uint64_t recorder, values;   /* bytes */
    uint64_t reserved, mappings; /* of its stacks */
    uint64_t busy;               /* PEs that have something to do */
};

/* The PEs of a group, as far as they are looked at. */
struct sample {
    const struct problem *problem;
    const struct study_options *options;
    struct walk sum, most; /* of a group; of one CUBE */
    uint64_t left;         /* commands that there is memory for: more need not be looked at */
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t longest(const struct study_options *options)
{
    uint64_t context = 0;
    for (uint32_t i = 0; i < options->contexts_count; i++)
        context = larger(context, options->contexts[i]);
    return context;
}

static void look_at(struct walk *walk, const struct command *command)
{
    walk->commands++;
    walk->records += outlook_emits(command);
    walk->buffers = larger(walk->buffers, value_engine_buffers(command));
    if (command->op != OP_STORE)
        return;
    uint64_t end = command->out.addr + operand_bytes(&command->out);
    walk->first = walk->end == 0 ? command->out.addr : time_min(walk->first, command->out.addr);
    walk->end = larger(walk->end, end);
}

/* Runs a program to its end, or as far as it is recorded ahead. */
static struct walk walk_program(struct sample *sample, uint32_t within, uint32_t pe)
{
    struct walk walk = {0};
    struct study_options few = *sample->options;
    uint64_t ahead = few.record_ahead, most = few.verify ? larger(SAMPLE_COMMANDS, ahead) : ahead;
    most = time_min(most, sample->left);
    bool ended = false;
    few.record_ahead = (uint32_t)time_min(ahead, STUDY_DEFAULT_RECORD_AHEAD);
    struct program *program = traffic_program(sample->problem, &few, 0, within, within, pe);
    while (walk.commands <= most && !ended && !program_stopped(program)) {
        const struct command *command = program->ops->next(program);
        ended = command->op == OP_END || command->op == OP_FAIL;
        if (!ended)
            look_at(&walk, command);
    }
    sample->left -= time_min(sample->left, walk.commands);
    walk.scratch = program->scratch_high_water;
    program->ops->destroy(program);
    uint32_t stacks = (walk.commands > ahead) + (walk.records >= OUTLOOK_EMISSIONS);
    walk.recorder =
        tl_program_memory(time_min(walk.commands, ahead), stacks, &walk.reserved, &walk.mappings);
    walk.busy = walk.commands > 0;
    if (few.verify)
        walk.values = value_engine_memory(walk.scratch, walk.end - walk.first);
    return walk;
}

static void add(struct walk *sum, const struct walk *one, uint64_t times)
{
    sum->recorder += one->recorder * times;
    sum->values += one->values * times;
    sum->buffers += one->buffers * times;
    sum->reserved += one->reserved * times;
    sum->mappings += one->mappings * times;
    sum->busy += one->busy * times;
}

/* Each of `most` becomes what `one` has more, or, with `least`, less. */
static void keep(struct walk *most, const struct walk *one, bool least)
{
    uint64_t *const mine[] = {&most->recorder, &most->values,   &most->buffers,
                              &most->reserved, &most->mappings, &most->busy};
    const uint64_t theirs[] = {one->recorder, one->values,   one->buffers,
                               one->reserved, one->mappings, one->busy};
    for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++)
        if (least ? theirs[i] < *mine[i] : theirs[i] > *mine[i])
            *mine[i] = theirs[i];
}

/* Looks at group 0, of which one PE stands for `step`: all groups do the same. The buffers are one
 * CUBE's, for all its PEs. */
static void take_sample(struct sample *sample)
{
    uint64_t pes = sample->problem->launch.pes;
    uint64_t all = sample->problem->launch.group_cubes * pes;
    uint64_t step = (all + SAMPLE_PES - 1) / SAMPLE_PES, last = UINT64_MAX;
    struct walk cube = {0};
    for (uint64_t i = 0; i < all; i += step) {
        if (i / pes != last)
            cube = (struct walk){0};
        last = i / pes;
        struct walk one = walk_program(sample, (uint32_t)last, (uint32_t)(i % pes));
        uint64_t buffers = one.buffers > cube.buffers ? one.buffers - cube.buffers : 0;
        one.buffers = 0;
        add(&sample->sum, &one, time_min(step, all - i));
        add(&cube, &one, time_min(step, pes));
        cube.buffers += buffers;
        sample->sum.buffers += buffers * (step > pes ? step / pes : 1);
        keep(&sample->most, &cube, false);
    }
}

/* Of the `cubes` of a process: whole groups, and a rest that may be the CUBEs with the most. */
static struct walk of_cubes(const struct sample *sample, uint64_t cubes)
{
    uint64_t group = sample->problem->launch.group_cubes;
    struct walk all = {0}, rest = {0};
    add(&all, &sample->sum, cubes / group);
    add(&rest, &sample->most, cubes % group);
    keep(&rest, &sample->sum, true);
    add(&all, &rest, 1);
    return all;
}

static void add_machine(const struct machine_params *params, uint64_t cubes, uint64_t busy,
                        uint32_t points, struct estimate *estimate)
{
    uint64_t pes = grid_size(params->geometry.pes), all = geometry_cubes(&params->geometry);
    struct cube_memory cube = cube_memory(params);
    uint64_t lp = engine_lp_memory((uint32_t)(pes * UNITS + 1), (uint32_t)(PENDING_EVENTS * pes));
    uint64_t result = sizeof(struct cube_result) +
                      pes * (3 * sizeof(struct pe_result) + 2 * sizeof(struct footprint));
    estimate->bytes[ESTIMATE_PROGRAM] = PROGRAM_BYTES;
    estimate->bytes[ESTIMATE_MACHINE] =
        cubes * (cube.parts + lp) + busy * cube.in_flight + all * CUBE_LINKS * sizeof(uint64_t);
    estimate->bytes[ESTIMATE_QUEUES] = cubes * cube.queues;
    estimate->bytes[ESTIMATE_RESULTS] = cubes * result + points * sizeof(struct point_summary);
}

struct estimate estimate_case(const struct machine_params *params,
                              const struct study_options *options, uint32_t case_number,
                              uint32_t points, uint32_t ranks)
{
    struct problem problem;
    struct estimate estimate = {.total = 0};
    problem_init(&problem, params, options, case_number, longest(options));
    struct sample sample = {.problem = &problem, .options = options};
    sample.left =
        time_min(room_of_process().bytes, room_of_node("").bytes) / sizeof(struct command);
    uint64_t cubes = pieces_of(geometry_cubes(&params->geometry), ranks);
    take_sample(&sample);
    struct walk programs = of_cubes(&sample, cubes);
    add_machine(params, cubes, programs.busy, points, &estimate);
    estimate.bytes[ESTIMATE_RECORDER] = programs.recorder;
    if (options->trace != TRACE_NONE)
        estimate.bytes[ESTIMATE_TRACE] = spool_memory((uint32_t)cubes);
    if (options->verify)
        estimate.bytes[ESTIMATE_VALUES] =
            BLAS_BYTES + programs.values + programs.buffers + verify_memory(&problem, ranks);
    for (uint32_t i = 0; i < ESTIMATE_COUNT; i++)
        estimate.total += estimate.bytes[i];
    estimate.reserved[ESTIMATE_RECORDER] = programs.reserved;
    if (options->verify)
        estimate.reserved[ESTIMATE_VALUES] = BLAS_ADDRESS_BYTES - BLAS_BYTES;
    estimate.mappings = programs.mappings;
    return estimate;
}

/* ---- against what there is ---- */

#define X(id, what, key) {what, key},
static const struct {
    const char *what, *key;
} parts[ESTIMATE_COUNT] = {ESTIMATE_PARTS(X)};
#undef X

static uint32_t greatest(const struct estimate *estimate)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < ESTIMATE_COUNT; i++)
        if (estimate->bytes[i] > estimate->bytes[most])
            most = i;
    return most;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static bool check_room(const struct estimate *estimate, const char *what, uint64_t needed,
                       uint32_t ranks, struct room room, struct error *err)
{
    uint32_t most = greatest(estimate);
    if (needed <= room.bytes)
        return true;
    return error_set(err, ERROR_USAGE,
                     "this run needs about %.0f MiB more %s (%u rank%s of %.0f MiB), and %s "
                     "leaves %.0f MiB; the most, %.0f MiB of a rank, is for %s (%s)",
                     mib(needed), what, ranks, ranks == 1 ? "" : "s", mib(estimate->total),
                     room.what, mib(room.bytes), mib(estimate->bytes[most]), parts[most].what,
                     parts[most].key);
}

static bool check_mappings(const struct estimate *estimate, struct error *err)
{
    uint64_t allowed = room_of_mappings("");
    if (estimate->mappings < allowed - allowed / 16)
        return true;
    return error_set(err, ERROR_USAGE,
                     "the stacks of the kernels need about %" PRIu64 " memory mappings on a rank, "
                     "and vm.max_map_count allows %" PRIu64
                     ": use more ranks, or raise it (sysctl)",
                     estimate->mappings, allowed);
}

/* With the addresses that are not used. */
static struct estimate addresses(struct estimate estimate)
{
    for (uint32_t i = 0; i < ESTIMATE_COUNT; i++) {
        estimate.bytes[i] += estimate.reserved[i];
        estimate.total += estimate.reserved[i];
    }
    return estimate;
}

static bool check(const struct estimate *estimate, uint32_t here, struct error *err)
{
    struct estimate with = addresses(*estimate);
    here = here > 0 ? here : 1; /* not told */
    return check_room(&with, "address space", with.total - PRESENT_BYTES, 1, room_of_process(),
                      err) &&
           check_room(estimate, "memory", (estimate->total - PRESENT_BYTES) * here, here,
                      room_of_node(""), err) &&
           check_mappings(estimate, err);
}

bool estimate_check(const struct machine_params *params, const struct study_options *options,
                    uint32_t ranks, uint32_t here, struct error *err)
{
    uint64_t context = longest(options);
    struct study_options one = *options;
    one.contexts = &context;
    one.contexts_count = 1;
    for (uint32_t i = 0; i < plan_points(&one); i++) {
        struct plan_point at = plan_point(&one, i);
        struct estimate estimate =
            estimate_case(params, &at.options, at.case_number, plan_points(options), ranks);
        if (!check(&estimate, here, err))
            return false;
    }
    return true;
}
