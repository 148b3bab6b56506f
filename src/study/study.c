#include "study/study.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/replacement.h"
#include "results/results.h"
#include "kernels/registry.h"
#include "pdes/transport/choice.h"
#include "study/effect.h"
#include "study/estimate.h"
#include "study/inputs.h"
#include "study/plan.h"
#include "study/point.h"
#include "study/rehearse.h"
#include "study/summary.h"
#include "study/summary_rows.h"
#include "study/verify.h"
#include "support/clock.h"
#include "support/memory.h"
#include "support/text.h"

struct study {
    const struct comm *comm;
    const struct machine_params *params;
    const struct study_options *options;
    struct study_report *report;
    struct transport *transport;
    struct results *results;
    struct spool *spool;
    struct value_source *source; /* NULL: only times are simulated */
    uint32_t groups;             /* CUBE groups of the kernel that has the most */
    struct results_scalar scalars[SUMMARY_ROWS_COUNT];
    struct error *err;
};

static uint64_t peak_rss_bytes(void)
{
    static const char key[] = "VmHWM:";
    char line[128];
    uint64_t kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    if (status == NULL)
        return 0;
    while (kib == 0 && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtoull(line + strlen(key), NULL, 10);
    fclose(status);
    return kib * 1024;
}

void study_start(void)
{
    results_start();
}

void study_list_kernels(FILE *out)
{
    for (const struct tl_kernel_info *kernel = kernel_list(); kernel->name != NULL; kernel++)
        fprintf(out, "%-22s %s\n", kernel->name, kernel->summary);
    for (const struct kernel_set *set = kernel_sets(); set->name != NULL; set++)
        fprintf(out, "%-22s %s\n", set->name, set->summary);
}

/* The memory of the kernel's points of this case, at most: looked for once, in the row of the
 * largest context, as there may be many contexts. */
static uint64_t memory_of(const struct machine_params *params, const struct study_options *options,
                          const struct plan_point *at, uint32_t ranks, uint64_t known[CASES + 1])
{
    struct study_options one = at->options;
    one.contexts = options->contexts;
    one.contexts_count = options->contexts_count;
    uint64_t *bytes = &known[at->case_number];
    if (*bytes == 0)
        *bytes = estimate_case(params, &one, at->case_number, plan_points(options), ranks).total;
    return *bytes;
}

void study_list_points(const struct machine_params *params, const struct study_options *options,
                       uint32_t ranks, FILE *out)
{
    uint64_t memory[CASES + 1] = {0};
    const struct tl_kernel_info *kernel = NULL;
    for (uint32_t i = 0; i < plan_points(options); i++) {
        struct plan_point at = plan_point(options, i);
        struct problem problem;
        problem_init(&problem, params, &at.options, at.case_number, at.context);
        assert(problem.kernel != NULL); /* the options were checked */
        if (problem.kernel != kernel)
            memset(memory, 0, sizeof memory);
        kernel = problem.kernel;
        char name[KERNEL_NAME_SHOWN + 1];
        uint64_t bytes = memory_of(params, options, &at, ranks, memory);
        fprintf(out, "%s case %u context %" PRIu64 " batch %u kernel %s memory %" PRIu64 " MiB\n",
                kernel_phase(problem.kernel), at.case_number, at.context, problem.launch.batch,
                text_escape(problem.kernel->name, name, sizeof name), bytes >> 20);
    }
}

uint32_t study_cubes(const struct machine_params *params)
{
    return geometry_cubes(&params->geometry);
}

static bool records_commands(const struct study_options *options, uint64_t context)
{
    return options->trace == TRACE_COMMANDS ||
           (options->trace == TRACE_AUTO && context <= TRACE_AUTO_CONTEXT);
}

/* Fills the summary's verification. */
static bool verify(struct study *study, const struct point *point, struct point_summary *summary)
{
    struct verify_result result;
    if (study->source == NULL)
        return true;
    struct results *output = study->options->write_output ? study->results : NULL;
    if (!verify_point(point, output, &result, study->err))
        return false;
    summary->verified = true;
    summary->verify_passed = result.passed;
    summary->verify_state = result.passed ? VERIFY_PASSED : VERIFY_FAILED;
    summary->verify_rms_relative = result.rms_relative;
    summary->verify_max_abs = result.max_abs;
    summary->output_digest = result.digest;
    summary->output_missing = result.missing;
    summary->output_repeated = result.repeated;
    return true;
}

static bool keep(struct study *study, struct point *point)
{
    struct study_report *report = study->report;
    struct point_summary *summary = &report->points[report->count];
    struct measurement measurement;
    uint64_t *group_latency_ps = memory_new(study->groups, sizeof *group_latency_ps);
    double start = clock_wall();
    point_measure(point, &measurement);
    summary_make(point, &measurement, summary, group_latency_ps);
    double summed = clock_wall();
    bool ok = verify(study, point, summary);
    double verified = clock_wall();
    struct results_point result = {
        .scalars = summary,
        .group_latency_ps = group_latency_ps,
        .cubes = measurement.cubes,
        .pe_results = measurement.pes,
        .footprints = measurement.footprints,
        .cube_footprints = measurement.rooms,
        .trace = records_commands(study->options, summary->context) ? study->spool : NULL,
    };
    if (result.trace != NULL)
        spool_finish(study->spool, study->err);
    ok = comm_agree(study->comm, study->err) && ok &&
         results_add(study->results, &result, study->err);
    report->count += ok;
    report->wrong += ok && summary->verified && !summary->verify_passed;
    report->run.events += measurement.stats.events;
    report->run.rounds += measurement.stats.rounds;
    report->run.messages += measurement.stats.messages;
    report->run.message_bytes += measurement.stats.message_bytes;
    report->run.busiest_events += comm_max(study->comm, measurement.stats.lp_events_max);
    report->run.critical_events += comm_max(study->comm, measurement.stats.critical_events);
    report->run.model_s.most += measurement.stats.model_s;
    report->run.sync_s.most += measurement.stats.sync_s;
    report->run.model_processor_s.most += measurement.stats.model_processor_s;
    report->run.verify_s += verified - summed;
    report->run.output_s.most += clock_wall() - verified + summed - start;
    measurement_fini(&measurement);
    memory_free(group_latency_ps);
    return ok;
}

static enum study_status run_point(struct study *study, uint32_t index)
{
    const struct study_options *options = study->options;
    struct problem problem;
    struct point point;
    const struct plan_point at = plan_point(options, index);
    problem_init(&problem, study->params, &at.options, at.case_number, at.context);
    if (options->progress && study->comm->rank == 0)
        options->progress(index, plan_points(options), problem.kernel->name, at.case_number,
                          at.context);
    bool traced = records_commands(options, at.context);
    spool_reset(study->spool);
    point_init(&point, study->comm, &problem, study->transport, &at.options,
               traced ? study->spool : NULL, study->source);
    enum engine_result result = point_run(&point, study->err);
    enum study_status status = result == ENGINE_STOPPED ? STUDY_STOPPED : STUDY_FAILED;
    if (result == ENGINE_DONE && keep(study, &point))
        status = STUDY_DONE;
    point_fini(&point);
    return status;
}

static bool open_output(struct study *study, const char *config_text)
{
    const struct machine_params *params = study->params;
    const struct comm *comm = study->comm;
    study->groups = plan_groups(params, study->options);
    struct results_layout layout = {
        .version = AHBM_VERSION,
        .config = config_text,
        .seed = study->options->seed,
        .points = plan_points(study->options),
        .cubes = geometry_cubes(&params->geometry),
        .pes = grid_size(params->geometry.pes),
        .groups = study->groups,
        .hbm_capacity_bytes = params->hbm.capacity_bytes,
        .model_layers = (uint32_t)params->model.layers,
        .summary = study->options->trace != TRACE_NONE,
        .scalars = study->scalars,
        .scalars_count = summary_scalars(study->scalars),
    };
    engine_block(layout.cubes, comm->size, comm->rank, &layout.first_cube, &layout.local_cubes);
    study->results = results_open(comm, study->options->output, &layout, study->err);
    if (study->results == NULL)
        return false;
    char *folder = replacement_folder(study->options->output);
    study->spool = spool_new(folder, layout.local_cubes, study->err);
    memory_free(folder);
    return comm_agree(comm, study->err);
}

/* `most` is this process's; the spread over all afterwards. */
static void spread_over(const struct comm *comm, struct spread *spread)
{
    uint64_t nanoseconds = (uint64_t)(1e9 * spread->most);
    spread->least = 1e-9 * (double)comm_min(comm, nanoseconds);
    spread->mean = 1e-9 * (double)comm_sum(comm, nanoseconds) / comm->size;
    spread->most = 1e-9 * (double)comm_max(comm, nanoseconds);
}

/* This process's facts become the run's. */
static void total(const struct comm *comm, struct study_run_facts *run, double start)
{
    run->events = comm_sum(comm, run->events);
    run->messages = comm_sum(comm, run->messages);
    run->message_bytes = comm_sum(comm, run->message_bytes);
    run->peak_rss_bytes = comm_max(comm, peak_rss_bytes());
    struct spread wall = {.most = clock_wall() - start};
    spread_over(comm, &wall);
    run->wall_s = wall.most;
    spread_over(comm, &run->model_s);
    spread_over(comm, &run->sync_s);
    spread_over(comm, &run->model_processor_s);
    spread_over(comm, &run->output_s);
    struct spread verify = {.most = run->verify_s};
    spread_over(comm, &verify);
    run->verify_s = verify.most;
}

static bool close_output(struct study *study, double start)
{
    struct study_run_facts *run = &study->report->run;
    total(study->comm, run, start);
    struct results_run facts = {
        .ranks = study->comm->size,
        .transport = run->transport,
        .wall_s = run->wall_s,
        .events = run->events,
        .rounds = run->rounds,
        .messages = run->messages,
        .message_bytes = run->message_bytes,
        .peak_rss_bytes = run->peak_rss_bytes,
    };
    struct results *results = study->results;
    study->results = NULL;
    return results_close(results, &facts, study->err);
}

static enum study_status run_all(struct study *study, double start)
{
    enum study_status status = STUDY_DONE;
    for (uint32_t i = 0; i < plan_points(study->options) && status == STUDY_DONE; i++)
        status = run_point(study, i);
    if (status == STUDY_DONE && !close_output(study, start))
        status = STUDY_FAILED;
    return status;
}

static void open_transport(struct study *study)
{
    struct study_run_facts *run = &study->report->run;
    struct error why;
    study->transport = transport_open(study->comm->comm, study->options->transport, &why);
    run->transport = study->transport->ops->name;
    if (why.code != ERROR_NONE)
        snprintf(run->transport_note, sizeof run->transport_note, "%.250s", why.text);
}

/* What is wrong with the whole study is told before any of it runs. `group` NULL: one process
 * alone, without MPI, looks at what `ranks` will do, of which so many are `here`. */
static bool check(const struct comm *comm, const struct machine_params *params,
                  const struct study_options *options, uint32_t ranks, uint32_t here,
                  struct error *err)
{
    if (plan_check(params, options, err) && effect_check(params, options, err))
        estimate_check(params, options, ranks, here, err);
    bool good = comm != NULL ? comm_agree(comm, err) : err->code == ERROR_NONE;
    return good && rehearse(comm, params, options, err);
}

bool study_check(const struct machine_params *params, const struct study_options *options,
                 uint32_t ranks, uint32_t here, struct error *err)
{
    return check(NULL, params, options, ranks, here, err) && inputs_check(params, options, err);
}

enum study_status study_run(const struct comm *comm, const struct machine_params *params,
                            const char *config_text, const struct study_options *options,
                            struct study_report *report, struct error *err)
{
    double start = clock_wall();
    struct study study = {
        .comm = comm, .params = params, .options = options, .report = report, .err = err};
    *report = (struct study_report){0};
    if (!check(comm, params, options, comm->size, options->ranks_here, err))
        return STUDY_FAILED;
    if (options->verify) {
        study.source = inputs_new(comm, params, options, err);
        if (study.source == NULL)
            return STUDY_FAILED;
    }
    report->points = memory_new(plan_points(options), sizeof *report->points);
    open_transport(&study);
    enum study_status status = STUDY_FAILED;
    if (open_output(&study, config_text))
        status = run_all(&study, start);
    if (status == STUDY_FAILED && options->stop != NULL && comm_max(comm, *options->stop != 0))
        status = STUDY_STOPPED; /* verification was broken off, say */
    if (study.results != NULL)
        results_abandon(study.results);
    if (study.spool != NULL)
        spool_free(study.spool);
    study.transport->ops->destroy(study.transport);
    value_source_free(study.source);
    return status;
}

void study_report_fini(struct study_report *report)
{
    memory_free(report->points);
    report->points = NULL;
}
