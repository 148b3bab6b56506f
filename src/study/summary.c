#include "study/summary.h"

#include <string.h>

#include "kernels/registry.h"
#include "machine/digest.h"
#include "study/summary_rows.h"
#include "support/hash.h"
#include "support/memory.h"

/* What one CUBE contributes. */
struct share {
    uint64_t group; /* NO_GROUP: left over */
    uint64_t first_issue_ps, last_store_ps;
    uint64_t counts[COUNT_KINDS];
    uint64_t busy_max_ps[ENGINE_KINDS]; /* over PEs */
    uint64_t values[SUMMARY_ROWS_COUNT];
    uint64_t digest;
};

static void combine(uint64_t *values, enum summary_row_number number, uint64_t value)
{
    values[number] = summary_combined(summary_row(number)->combine, values[number], value);
}

static void start(uint64_t values[SUMMARY_ROWS_COUNT])
{
    for (int i = 0; i < SUMMARY_ROWS_COUNT; i++)
        values[i] = summary_start(summary_row((enum summary_row_number)i)->combine);
}

#define X(type, member, name, units, rule, of, value, ...)                                         \
    combine(share->values, ROW_##member, value);

static void add_pe(struct share *share, const struct pe_result *pe,
                   const struct footprint *footprint)
{
    share->first_issue_ps = time_min(share->first_issue_ps, pe->cpu.first_issue_ps);
    share->last_store_ps = time_max(share->last_store_ps, pe->cpu.last_store_ps);
    for (int i = 0; i < COUNT_KINDS; i++)
        share->counts[i] += pe->cpu.counts[i];
    for (int i = 0; i < ENGINE_KINDS; i++)
        share->busy_max_ps[i] = time_max(share->busy_max_ps[i], pe->busy_ps[i]);
    SUMMARY_PES(X)
}

static void add_cube(struct share *share, const struct cube_result *cube,
                     const struct cube_footprint *room)
{
    uint64_t links = 0;
    for (int i = 0; i < 2 * DIRECTIONS; i++)
        links += cube->links.bytes[i];
    SUMMARY_CUBES(X)
}

#undef X

static struct share share_of(const struct point *point, const struct measurement *measurement,
                             const struct digest_plan *plan, uint32_t index)
{
    const struct cube_result *cube = &measurement->cubes[index];
    uint32_t pes = point->problem->launch.pes, within;
    struct share share = {.first_issue_ps = TIME_NEVER};
    share.group = problem_group(point->problem, point->first + index, &within);
    start(share.values);
    size_t first = (size_t)index * pes;
    for (uint32_t pe = 0; pe < pes; pe++)
        add_pe(&share, &measurement->pes[first + pe], &measurement->footprints[first + pe]);
    add_cube(&share, cube, &measurement->rooms[index]);
    uint64_t digest = hash_word(cube->digest, cube->events);
    share.digest = hash_finish(digest_results(plan, digest, &measurement->pes[first], pes));
    return share;
}

/* Of a launch without query blocks nothing is dealt. */
static const char *summary_word(const struct tl_launch *launch, enum tl_option_number number,
                                uint32_t value)
{
    bool dealt = number != TL_NUMBER_SHARDS || launch->query_block > 0;
    return dealt ? option_row(number)->words[value] : "-";
}

static double summary_ratio(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0.0 : (double)part / (double)whole;
}

static uint64_t summary_step_macs(const struct problem *problem)
{
    const struct machine_params *params = problem->params;
    return params->sched.tile_m * params->sched.tile_k * params->sched.tile_n;
}

static uint64_t summary_group_pes(const struct problem *problem)
{
    return (uint64_t)problem->launch.group_cubes * problem->launch.pes;
}

static void add_group_0(struct point_summary *summary, const struct share *share)
{
    for (int i = 0; i < COUNT_KINDS; i++)
        summary->commands[i] += share->counts[i];
    for (int i = 0; i < ENGINE_KINDS; i++)
        summary->busy_max_ps[i] = time_max(summary->busy_max_ps[i], share->busy_max_ps[i]);
}

/* The rows that are combined over CUBEs. */
static void add_values(uint64_t *values, const struct share *share)
{
    for (int i = 0; i < SUMMARY_ROWS_COUNT; i++)
        if (summary_row((enum summary_row_number)i)->of == SUMMARY_ALL || share->group == 0)
            combine(values, (enum summary_row_number)i, share->values[i]);
}

static void set_values(struct point_summary *summary, const uint64_t *values)
{
#define X(type, member, ...) summary->member = values[ROW_##member];
    SUMMARY_PES(X)
    SUMMARY_CUBES(X)
#undef X
}

/* `first`: when the group's first command was issued. */
static void add_latency(const struct share *share, uint64_t *first, uint64_t *group_latency_ps)
{
    if (share->group == NO_GROUP)
        return;
    uint64_t *last = &group_latency_ps[share->group];
    first[share->group] = time_min(first[share->group], share->first_issue_ps);
    *last = time_max(*last, share->last_store_ps);
}

static void condense(const struct problem *problem, const struct share *shares, uint32_t cubes,
                     struct point_summary *summary, uint64_t *group_latency_ps)
{
    uint64_t values[SUMMARY_ROWS_COUNT], digest = HASH_START;
    uint64_t *first = memory_new(problem->groups, sizeof *first);
    memset(first, 0xff, problem->groups * sizeof *first);
    start(values);
    for (uint32_t i = 0; i < cubes; i++) {
        const struct share *share = &shares[i];
        digest = hash_word(digest, share->digest);
        for (int k = 0; k < COUNT_KINDS; k++)
            summary->commands_total[k] += share->counts[k];
        add_values(values, share);
        add_latency(share, first, group_latency_ps);
        if (share->group == 0)
            add_group_0(summary, share);
    }
    for (uint32_t g = 0; g < problem->groups; g++) {
        group_latency_ps[g] -= time_min(first[g], group_latency_ps[g]);
        summary->latency_ps = time_max(summary->latency_ps, group_latency_ps[g]);
    }
    summary->digest = hash_finish(digest);
    set_values(summary, values);
    memory_free(first);
}

/* What each process knows by itself, given what was combined: texts are its own. */
static void complete(const struct point *point, struct point_summary *s)
{
    const struct problem *problem = point->problem;
    const struct study_options *options = point->options;
    const struct tl_launch *launch = &problem->launch;
    for (int i = 0; i < ENGINE_KINDS; i++)
        if (s->busy_max_ps[i] > s->busy_max_ps[s->busiest])
            s->busiest = (enum engine_kind)i;
#define X(type, member, name, units, rule, of, value, ...) s->member = value;
    SUMMARY_GIVEN(X)
    SUMMARY_DERIVED(X)
#undef X
}

static void clear(struct point_summary *summary)
{
    memset(summary, 0, sizeof *summary);
#define X(type, member, name, units, rule, of, value, ...) summary->member = value;
    SUMMARY_FOUND(X)
#undef X
}

void summary_make(const struct point *point, const struct measurement *measurement,
                  struct point_summary *summary, uint64_t *group_latency_ps)
{
    const struct comm *comm = point->comm;
    const struct problem *problem = point->problem;
    uint32_t cubes = geometry_cubes(&problem->params->geometry);
    struct share *mine = memory_new(point->count, sizeof *mine);
    struct share *all = memory_new(comm->rank == 0 ? cubes : 1, sizeof *all);
    const struct digest_plan plan = digest_plan();
    for (uint32_t i = 0; i < point->count; i++)
        mine[i] = share_of(point, measurement, &plan, i);
    comm_gather(comm, mine, point->count * sizeof *mine, all);
    clear(summary);
    memset(group_latency_ps, 0, problem->groups * sizeof *group_latency_ps);
    if (comm->rank == 0)
        condense(problem, all, cubes, summary, group_latency_ps);
    comm_broadcast(comm, summary, sizeof *summary);
    comm_broadcast(comm, group_latency_ps, problem->groups * sizeof *group_latency_ps);
    complete(point, summary);
    summary->events = comm_sum(comm, measurement->stats.events);
    summary->rounds = measurement->stats.rounds;
    memory_free(mine);
    memory_free(all);
}
