#include "study/summary.h"

#include <string.h>

#include "machine/digest.h"
#include "support/hash.h"
#include "support/memory.h"

/* What one CUBE contributes. */
struct share {
    uint64_t group; /* NO_GROUP: left over */
    uint64_t first_issue_ps, last_store_ps, last_end_ps;
    uint64_t counts[COUNT_KINDS];
    uint64_t busy_max_ps[ENGINE_KINDS]; /* over PEs */
    uint64_t kv_bytes;
    uint64_t o_bytes, o_bytes_max; /* of all PEs; of one */
    uint64_t read_bytes, sent_bytes, useful_macs, gemm_steps;
    uint64_t useful_macs_max; /* over PEs */
    uint64_t cube_link_bytes; /* outgoing, to CUBEs and SIPs */
    uint64_t digest;
};

static void add_pe(struct share *share, const struct pe_result *pe,
                   const struct footprint *footprint)
{
    share->first_issue_ps = time_min(share->first_issue_ps, pe->cpu.first_issue_ps);
    share->last_store_ps = time_max(share->last_store_ps, pe->cpu.last_store_ps);
    share->last_end_ps = time_max(share->last_end_ps, pe->cpu.last_end_ps);
    for (int i = 0; i < COUNT_KINDS; i++)
        share->counts[i] += pe->cpu.counts[i];
    for (int i = 0; i < ENGINE_KINDS; i++)
        share->busy_max_ps[i] = time_max(share->busy_max_ps[i], pe->busy_ps[i]);
    share->kv_bytes += footprint->kv_bytes;
    share->o_bytes += footprint->o_bytes;
    share->o_bytes_max = time_max(share->o_bytes_max, footprint->o_bytes);
    share->read_bytes += pe->dma.read_bytes;
    share->sent_bytes += pe->ipcq.sent_bytes;
    share->useful_macs += pe->sched.useful_macs;
    share->useful_macs_max = time_max(share->useful_macs_max, pe->sched.useful_macs);
    share->gemm_steps += pe->gemm.steps;
}

static struct share share_of(const struct point *point, const struct measurement *measurement,
                             const struct digest_plan *plan, uint32_t index)
{
    const struct cube_result *cube = &measurement->cubes[index];
    uint32_t pes = point->problem->launch.pes, within;
    struct share share = {.first_issue_ps = TIME_NEVER};
    share.group = problem_group(point->problem, point->first + index, &within);
    size_t first = (size_t)index * pes;
    for (uint32_t pe = 0; pe < pes; pe++)
        add_pe(&share, &measurement->pes[first + pe], &measurement->footprints[first + pe]);
    for (int i = 0; i < 2 * DIRECTIONS; i++)
        share.cube_link_bytes += cube->links.bytes[i];
    uint64_t digest = hash_word(cube->digest, cube->events);
    share.digest = hash_finish(digest_results(plan, digest, &measurement->pes[first], pes));
    return share;
}

/* Sums over group 0 on the way to the summary. */
struct totals {
    uint64_t busy_max_ps[ENGINE_KINDS];
    uint64_t useful_macs, useful_macs_max, gemm_steps;
    uint64_t o_bytes, o_bytes_max;
    uint64_t last_end_ps; /* idle PEs that sweep for nothing may end after the last store */
};

static void add_group_0(struct point_summary *summary, const struct share *share,
                        struct totals *totals)
{
    for (int i = 0; i < COUNT_KINDS; i++)
        summary->commands[i] += share->counts[i];
    for (int i = 0; i < ENGINE_KINDS; i++)
        totals->busy_max_ps[i] = time_max(totals->busy_max_ps[i], share->busy_max_ps[i]);
    summary->read_bytes += share->read_bytes;
    summary->sent_bytes += share->sent_bytes;
    summary->cube_link_bytes += share->cube_link_bytes;
    totals->last_end_ps = time_max(totals->last_end_ps, share->last_end_ps);
    totals->useful_macs += share->useful_macs;
    totals->useful_macs_max = time_max(totals->useful_macs_max, share->useful_macs_max);
    totals->gemm_steps += share->gemm_steps;
    totals->o_bytes += share->o_bytes;
    totals->o_bytes_max = time_max(totals->o_bytes_max, share->o_bytes_max);
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0.0 : (double)part / (double)whole;
}

static void set_shares(struct point_summary *summary, const struct problem *problem,
                       const struct totals *totals)
{
    const uint64_t *busy = totals->busy_max_ps;
    const struct hw_params *params = problem->params;
    uint64_t pes = (uint64_t)problem->launch.group_cubes * problem->launch.pes;
    for (int i = 0; i < ENGINE_KINDS; i++)
        if (busy[i] > busy[summary->busiest])
            summary->busiest = (enum engine_kind)i;
    summary->busiest_share = ratio(busy[summary->busiest], totals->last_end_ps);
    summary->gemm_busy_share = ratio(busy[ENGINE_GEMM], totals->last_end_ps);
    uint64_t per_step = params->sched.tile_m * params->sched.tile_k * params->sched.tile_n;
    summary->gemm_useful_share = ratio(totals->useful_macs, totals->gemm_steps * per_step);
    summary->gemm_imbalance = ratio(totals->useful_macs_max * pes, totals->useful_macs);
    summary->o_gather_bytes = totals->o_bytes - totals->o_bytes_max;
}

static void condense(const struct problem *problem, const struct share *shares, uint32_t cubes,
                     struct point_summary *summary, uint64_t *group_latency_ps)
{
    struct totals totals = {0};
    uint64_t digest = HASH_START;
    uint64_t *first = memory_new(problem->groups, sizeof *first);
    memset(first, 0xff, problem->groups * sizeof *first);
    for (uint32_t i = 0; i < cubes; i++) {
        const struct share *share = &shares[i];
        digest = hash_word(digest, share->digest);
        summary->kv_bytes_per_cube = time_max(summary->kv_bytes_per_cube, share->kv_bytes);
        summary->gemm_steps += share->gemm_steps;
        for (int k = 0; k < COUNT_KINDS; k++)
            summary->commands_total[k] += share->counts[k];
        if (share->group == NO_GROUP)
            continue;
        first[share->group] = time_min(first[share->group], share->first_issue_ps);
        group_latency_ps[share->group] =
            time_max(group_latency_ps[share->group], share->last_store_ps);
        if (share->group == 0)
            add_group_0(summary, share, &totals);
    }
    for (uint32_t g = 0; g < problem->groups; g++) {
        group_latency_ps[g] -= time_min(first[g], group_latency_ps[g]);
        summary->latency_ps = time_max(summary->latency_ps, group_latency_ps[g]);
    }
    summary->digest = hash_finish(digest);
    set_shares(summary, problem, &totals);
    memory_free(first);
}

static void describe(const struct problem *problem, struct point_summary *summary)
{
    const struct tl_launch *launch = &problem->launch;
    memset(summary, 0, sizeof *summary);
    summary->phase = phase_name(launch->phase);
    summary->kernel = problem->kernel->name;
    summary->case_number = problem->case_number;
    summary->context = launch->context;
    summary->batch = launch->batch;
    summary->groups = problem->groups;
    summary->launch_ps = problem->params->launch.host_ps;
}

static void check_fit(const struct hw_params *params, struct point_summary *summary)
{
    unsigned __int128 all = (unsigned __int128)summary->kv_bytes_per_cube * params->model.layers;
    summary->kv_bytes_all_layers = all > UINT64_MAX ? UINT64_MAX : (uint64_t)all;
    summary->fits = all <= params->hbm.capacity_bytes;
}

void summary_make(const struct point *point, const struct measurement *measurement,
                  struct point_summary *summary, uint64_t *group_latency_ps)
{
    const struct group *group = point->group;
    const struct problem *problem = point->problem;
    uint32_t cubes = geometry_cubes(&problem->params->geometry);
    struct share *mine = memory_new(point->count, sizeof *mine);
    struct share *all = memory_new(group->rank == 0 ? cubes : 1, sizeof *all);
    const struct digest_plan plan = digest_plan();
    for (uint32_t i = 0; i < point->count; i++)
        mine[i] = share_of(point, measurement, &plan, i);
    group_gather(group, mine, point->count * sizeof *mine, all);
    describe(problem, summary);
    memset(group_latency_ps, 0, problem->groups * sizeof *group_latency_ps);
    const struct point_summary names = *summary;
    if (group->rank == 0)
        condense(problem, all, cubes, summary, group_latency_ps);
    group_broadcast(group, summary, sizeof *summary);
    summary->phase = names.phase; /* pointers are each process's own */
    summary->kernel = names.kernel;
    group_broadcast(group, group_latency_ps, problem->groups * sizeof *group_latency_ps);
    check_fit(problem->params, summary);
    summary->events = group_sum(group, measurement->stats.events);
    summary->rounds = measurement->stats.rounds;
    memory_free(mine);
    memory_free(all);
}
