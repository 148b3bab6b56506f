/* What the tests of verification share: one point, run with values by this process alone, with a
 * machine, options and a kernel of the test's choice. */
#ifndef AHBM_TESTS_VERIFY_RIG_H
#define AHBM_TESTS_VERIFY_RIG_H

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "results/results.h"
#include "study/study.h"
#include "study/summary.h"
#include "study/verify.h"
#include "support/memory.h"
#include "values/generator.h"

static uint64_t rig_failures;

/* Counts a failure and says where. */
#define RIG_CHECK(condition)                                                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            rig_failures++;                                                                        \
            fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, __LINE__, __func__, #condition);  \
        }                                                                                          \
    } while (0)

static inline struct study_options rig_options(void)
{
    return (struct study_options){
        .cases = {true, true, true, true},
        .batch = 1,
        .query_len = 1,
        .cubes_per_group = 8,
        .record_ahead = STUDY_DEFAULT_RECORD_AHEAD,
        .trace = TRACE_NONE,
        .verify = true,
        .seed = 1,
    };
}

/* The default machine, changed by up to `count` assignments; NULL ends them early. */
static inline struct config *rig_machine(const char *const *assignments, int count)
{
    struct error err = {ERROR_NONE, ""};
    struct config *config = config_new();
    for (int i = 0; i < count && assignments[i] != NULL; i++)
        config_set(config, assignments[i], &err);
    config_finish(config, &err);
    if (err.code != ERROR_NONE) {
        fprintf(stderr, "no machine: %s\n", err.text);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return config;
}

/* Of one CUBE group: half the work of the default machine. */
#define RIG_ONE_GROUP "topology.cubes_y=2"

/* One point. Fill the first part, then rig_run(). */
struct rig {
    const char *machine[8];
    struct study_options options;
    uint32_t case_number;
    uint64_t context;
    const struct tl_kernel_info *kernel; /* NULL: the phase's */
    void (*spoil)(struct point *point);  /* after it is built; NULL: nothing */
    bool without_values;

    /* What came out. */
    struct config *config;
    struct comm comm;
    struct problem problem;
    struct point_summary summary;
    struct measurement measurement; /* [CUBE], [CUBE][PE] */
    struct verify_result verify;
};

static inline struct rig rig_new(uint32_t case_number, uint64_t context)
{
    return (struct rig){
        .machine = {RIG_ONE_GROUP},
        .options = rig_options(),
        .case_number = case_number,
        .context = context,
    };
}

static inline void rig_measure(struct rig *rig, struct point *point, struct error *err)
{
    uint64_t *latencies = memory_new(rig->problem.groups, sizeof *latencies);
    point_measure(point, &rig->measurement);
    summary_make(point, &rig->measurement, &rig->summary, latencies);
    if (!rig->without_values)
        verify_point(point, NULL, &rig->verify, err);
    memory_free(latencies);
}

static inline void rig_run(struct rig *rig)
{
    struct error err = {ERROR_NONE, ""};
    struct point point;
    rig->config = rig_machine(rig->machine, 8);
    rig->comm = comm_of(MPI_COMM_SELF);
    const struct machine_params *params = config_params(rig->config);
    problem_init(&rig->problem, params, &rig->options, rig->case_number, rig->context);
    if (rig->kernel != NULL)
        rig->problem.kernel = rig->kernel;
    struct value_source *source = generator_new(rig->options.seed, rig->problem.launch.head_dim);
    struct transport *transport = transport_local_new();
    point_init(&point, &rig->comm, &rig->problem, transport, &rig->options, NULL,
               rig->without_values ? NULL : source);
    if (rig->spoil != NULL)
        rig->spoil(&point);
    if (point_run(&point, &err) == ENGINE_DONE)
        rig_measure(rig, &point, &err);
    if (err.code != ERROR_NONE) {
        rig_failures++;
        fprintf(stderr, "case %u, context %" PRIu64 ": %s\n", rig->case_number, rig->context,
                err.text);
    }
    point_fini(&point);
    transport->ops->destroy(transport);
    value_source_free(source);
}

static inline void rig_fini(struct rig *rig)
{
    measurement_fini(&rig->measurement);
    config_free(rig->config);
}

/* The PE's results, of CUBE and PE. */
static inline const struct pe_result *rig_pe(const struct rig *rig, uint32_t cube, uint32_t pe)
{
    return &rig->measurement.pes[cube * rig->problem.launch.pes + pe];
}

/* Runs the tests shared out over the ranks of this launch and returns main()'s status. */
struct rig_test {
    const char *name;
    void (*run)(void);
};

static inline int rig_main(int argc, char **argv, const char *suite, const struct rig_test *tests,
                           uint32_t count)
{
    int rank, size;
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
    results_start();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (uint32_t i = (uint32_t)rank; i < count; i += (uint32_t)size) {
        uint64_t before = rig_failures;
        tests[i].run();
        if (rig_failures != before)
            fprintf(stderr, "%s: %s failed\n", suite, tests[i].name);
    }
    MPI_Allreduce(MPI_IN_PLACE, &rig_failures, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: %u tests, %" PRIu64 " failures\n", suite, count, rig_failures);
    MPI_Finalize();
    return rig_failures > 0;
}

#define RIG_TEST(function)                                                                         \
    {                                                                                              \
#function, function                                                                        \
    }

#endif
