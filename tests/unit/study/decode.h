/* The decode cases on the machine of a rig, without files and MPI: one process owns all CUBEs. */
#ifndef AHBM_TESTS_STUDY_DECODE_H
#define AHBM_TESTS_STUDY_DECODE_H

#include "../machine/rules.h"
#include "config/config.h"
#include <ahbm/kit/placement.h>
#include "study/problem.h"
#include "tl/record.h"

static inline struct study_options decode_options(void)
{
    return (struct study_options){
        .cases = {true, true, true, true},
        .batch = 1,
        .query_len = 1,
        .cubes_per_group = STUDY_DEFAULT_CUBES_PER_GROUP,
        .tile = 1024,
        .record_ahead = STUDY_DEFAULT_RECORD_AHEAD,
        .seed = 1,
        .output = STUDY_DEFAULT_OUTPUT,
    };
}

/* The default machine changed by one assignment, NULL for none. */
static inline struct machine_params decode_machine(const char *assignment)
{
    struct error err = {ERROR_NONE, ""};
    struct config *config = config_new();
    if (assignment != NULL)
        config_set(config, assignment, &err);
    if (err.code != ERROR_NONE || !config_finish(config, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    struct machine_params params = *config_params(config);
    config_free(config);
    return params;
}

struct decode {
    struct rig rig;
    struct problem problem;
    struct pe_result total;  /* over all PEs */
    struct pe_result group0; /* over those of group 0 */
    uint64_t latency_ps;     /* of the slowest group */
    struct engine_stats stats;
};

static inline void decode_load(struct decode *decode, const struct study_options *options)
{
    struct rig *rig = &decode->rig;
    for (uint32_t cube = 0; cube < rig->cubes_count; cube++) {
        uint32_t within, group = problem_group(&decode->problem, cube, &within);
        for (uint32_t pe = 0; pe < rig->pes && group != NO_GROUP; pe++) {
            struct tl_program_config config = {
                .name = decode->problem.kernel->name,
                .kernel = decode->problem.kernel->run,
                .launch = problem_launch(&decode->problem, group, within, pe),
                .geometry = &rig->params.geometry,
                .cube = cube,
                .scratch_bytes = rig->params.scratch.bytes,
                .share_bytes = UINT64_MAX,
                .record_ahead = options->record_ahead,
            };
            rig->programs[cube * rig->pes + pe] = tl_program_new(&config);
        }
    }
}

static inline void decode_measure(struct decode *decode)
{
    const struct rig *rig = &decode->rig;
    uint64_t *first = memory_new(decode->problem.groups, sizeof *first);
    uint64_t *last = memory_new(decode->problem.groups, sizeof *last);
    memset(first, 0xff, decode->problem.groups * sizeof *first);
    for (uint32_t cube = 0; cube < rig->cubes_count; cube++) {
        uint32_t within, group = problem_group(&decode->problem, cube, &within);
        for (uint32_t pe = 0; pe < rig->pes && group != NO_GROUP; pe++) {
            struct pe_result result = rig_pe(rig, cube, pe);
            first[group] = time_min(first[group], result.cpu.first_issue_ps);
            last[group] = time_max(last[group], result.cpu.last_store_ps);
            if (group == 0)
                rules_add(&decode->group0, &result);
        }
    }
    for (uint32_t group = 0; group < decode->problem.groups; group++)
        decode->latency_ps = time_max(decode->latency_ps, last[group] - first[group]);
    memory_free(first);
    memory_free(last);
    engine_get_stats(rig->engine, &decode->stats);
}

/* Runs a case to its end, checks the rules that hold for every run, and measures. */
static inline void decode_run(struct decode *decode, const struct machine_params *params,
                              const struct study_options *options, uint32_t case_number,
                              uint64_t context)
{
    memset(decode, 0, sizeof *decode);
    rig_init(&decode->rig, params);
    problem_init(&decode->problem, &decode->rig.params, options, case_number, context);
    decode_load(decode, options);
    RUN_CLEAN(&decode->rig);
    const char *broken = rules_broken(&decode->rig, &decode->total);
    if (broken != NULL)
        fprintf(stderr, "\n  case %u context %llu breaks: %s\n", case_number,
                (unsigned long long)context, broken);
    CU_ASSERT_PTR_NULL(broken);
    decode_measure(decode);
}

static inline void decode_fini(struct decode *decode)
{
    rig_fini(&decode->rig);
}

static inline uint64_t decode_latency(const struct machine_params *params,
                                      const struct study_options *options, uint32_t case_number,
                                      uint64_t context)
{
    struct decode decode;
    decode_run(&decode, params, options, case_number, context);
    uint64_t latency = decode.latency_ps;
    decode_fini(&decode);
    return latency;
}

#endif
