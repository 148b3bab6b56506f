/* The program: options, then MPI, then the study, then the summary. */
#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/environment.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/share.h"
#include "cli/summary.h"
#include "study/inputs.h"
#include "study/study.h"
#include "study/summary_rows.h"
#include "support/memory.h"
#include "support/room.h"
#include "support/text.h"

static volatile sig_atomic_t stop_signal;
static bool under_mpirun; /* of Open MPI */

static void on_signal(int number)
{
    stop_signal = number;
    signal(number, SIG_DFL); /* a second one ends the process at once */
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (environment_hangup_ignored()) /* under nohup */
        action.sa_handler = SIG_IGN;
    sigaction(SIGHUP, &action, NULL);
}

static void end_at_once(int number)
{
    (void)number;
    _exit(1);
}

/* Memory has run out on this rank: the others must not wait for it. Open MPI's mpirun ends them
 * when it sees the status, and says less than after an MPI_Abort(), which wants memory, too. */
static void stop_all_ranks(void)
{
    if (under_mpirun)
        return;
    signal(SIGALRM, end_at_once);
    alarm(5);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* An error that every rank found on its own, before MPI started: told once, and nobody leaves
 * before it has been told (the launcher would end the others). Who tells is asked of MPI, so that
 * somebody does whatever the environment says. */
static int leave_early(const struct error *err, int *argc, char ***argv)
{
    if (environment_ranks() == 1) {
        output_error(err->text);
        return (int)err->code;
    }
    MPI_Init(argc, argv);
    struct comm comm = comm_of(MPI_COMM_WORLD);
    if (comm.rank == 0)
        output_error(err->text);
    comm_barrier(&comm);
    MPI_Finalize();
    return (int)err->code;
}

/* Open MPI crashes, or says a page, when it finds no addresses (measured: 80 MiB; a rank of 16, 150
 * MiB). Where the limit leaves too few, MPI cannot be used to agree on that: rank 0 tells. */
static void check_address_space(void)
{
    uint64_t needed = (UINT64_C(96) << 20) + environment_ranks_here() * (UINT64_C(6) << 20);
    struct room room = room_of_process();
    if (room.bytes >= needed)
        return;
    if (environment_rank() == 0)
        fprintf(
            stderr,
            "ahbm-pdes: error: MPI and HDF5 need about %llu MiB to start, and %s leaves %llu MiB\n",
            (unsigned long long)(needed >> 20), room.what, (unsigned long long)(room.bytes >> 20));
    else
        sleep(2); /* a rank that leaves ends the others */
    exit(ERROR_USAGE);
}

static void progress(uint32_t point, uint32_t points, const char *kernel, uint32_t case_number,
                     uint64_t context)
{
    char name[KERNEL_NAME_SHOWN + 1];
    fprintf(stderr, "ahbm-pdes: point %u of %u: kernel %s, case %u, %llu tokens\n", point + 1,
            points, text_escape(kernel, name, sizeof name), case_number,
            (unsigned long long)context);
}

static bool check_tasks(uint32_t ranks, const struct machine_params *params, struct error *err)
{
    uint32_t cubes = study_cubes(params);
    return ranks <= cubes ||
           error_set(err, ERROR_USAGE,
                     "%u ranks for %u CUBEs: a rank simulates at least one CUBE (use -np %u or "
                     "less)",
                     ranks, cubes, cubes);
}

/* What may be said of the machine without simulating. */
static void act_on_machine(struct options *options, struct error *err)
{
    struct config *config = share_inputs(NULL, options, err);
    if (config != NULL && options->action == ACTION_PRINT_CONFIG)
        config_print(config, stdout);
    else if (config != NULL && check_tasks(environment_ranks(), config_params(config), err) &&
             study_check(config_params(config), &options->study, environment_ranks(),
                         environment_ranks_here(), err))
        study_list_points(config_params(config), &options->study, environment_ranks(), stdout);
    config_free(config);
}

/* The actions that never start MPI; the exit status. Whoever stops reading what is only listed has
 * seen enough: nothing is said, and the status is that of a program that a SIGPIPE ended. */
static int act_alone(struct options *options, struct error *err)
{
    switch (options->action) {
    case ACTION_HELP:
        options_print_help(stdout);
        break;
    case ACTION_VERSION:
        printf("ahbm-pdes %s\n", AHBM_VERSION);
        break;
    case ACTION_LIST_KERNELS:
        study_list_kernels(stdout);
        break;
    case ACTION_LIST_RESULTS:
        summary_list(stdout);
        break;
    default:
        act_on_machine(options, err);
    }
    if (err->code != ERROR_NONE)
        return (int)err->code;
    int status = output_close(err);
    if (status == OUTPUT_READER_LEFT)
        error_clear(err);
    return status;
}

static bool check_ranks(const struct comm *comm, uint32_t announced,
                        const struct machine_params *params, struct error *err)
{
    if (announced > 1 && comm->size == 1)
        return error_set(err, ERROR_USAGE,
                         "the launcher started %u tasks, but MPI sees one: launch with the MPI "
                         "that this program was built with",
                         announced);
    return check_tasks(comm->size, params, err);
}

static void print_table(const struct options *options, const struct study_report *report,
                        const struct summary_ranks *ranks)
{
    char name[TEXT_ESCAPED_BYTES(PATH_MAX)];
    summary_print_table(report, ranks, options->stats, stdout);
    printf("result file: %s\n", text_escape(options->study.output, name, sizeof name));
}

/* The summary, then the verdict. False with `err`, the same on all ranks. */
static bool tell(const struct comm *comm, const struct options *options,
                 const struct machine_params *params, const struct study_report *report,
                 struct error *err)
{
    struct summary_ranks ranks = {comm->size, study_cubes(params), options->study.ranks_here,
                                  options->study.processors};
    study_verdict(report, err);
    if (comm->rank == 0 && !options->quiet) {
        if (options->format == FORMAT_JSON)
            summary_print_json(report, comm->size, stdout);
        else
            print_table(options, report, &ranks);
        output_close(err); /* a failed verification is the greater news */
    }
    return comm_agree(comm, err);
}

/* `announced`: by the launcher, as the environment was before MPI started. `err`: what a rank found
 * before that. */
static int run(const struct comm *comm, uint32_t announced, struct options *options,
               struct error err)
{
    struct study_report report = {0};
    enum study_status status = STUDY_FAILED;
    struct config *config = comm_agree(comm, &err) ? share_inputs(comm, options, &err) : NULL;
    if (config != NULL && check_ranks(comm, announced, config_params(config), &err)) {
        char *text = config_text(config);
        options->study.stop = &stop_signal;
        comm_census(comm, &options->study.ranks_here, &options->study.processors);
        options->study.progress = options->progress ? progress : NULL;
        status = study_run(comm, config_params(config), text, &options->study, &report, &err);
        memory_free(text);
    }
    if (status == STUDY_DONE && !tell(comm, options, config_params(config), &report, &err))
        status = STUDY_FAILED;
    if (comm->rank == 0 && status == STUDY_FAILED)
        output_error(err.text);
    if (comm->rank == 0 && status == STUDY_STOPPED)
        output_error("stopped by a signal; no file was written");
    study_report_fini(&report);
    config_free(config);
    if (status == STUDY_STOPPED)
        return 128 + (int)comm_max(comm, (uint64_t)stop_signal);
    return status == STUDY_DONE ? 0 : (int)err.code;
}

int main(int argc, char **argv)
{
    struct options options;
    struct error err = {ERROR_NONE, ""};
    int status = 0;
    memory_start();
    output_prepare();
    signal(SIGXFSZ, SIG_IGN); /* then it is a write that fails, and is reported */
    bool ok = options_parse(&options, argc, argv, &err);
    environment_prepare();
    if (!ok) {
        status = leave_early(&err, &argc, &argv);
    } else if (options.action != ACTION_RUN) {
        status = environment_rank() == 0 ? act_alone(&options, &err) : 0;
        if (err.code != ERROR_NONE)
            output_error(err.text);
    } else {
        check_address_space();
        catch_signals();
        if (environment_rank() == 0 && files_check(&options, &err))
            inputs_probe(&options.study, &err);
        study_start();
        under_mpirun = environment_under_mpirun(); /* MPI_Init() changes the environment */
        uint32_t announced = environment_ranks();
        MPI_Init(&argc, &argv);
        catch_signals(); /* again: libraries that MPI loads put handlers of their own in place */
        struct comm comm = comm_of(MPI_COMM_WORLD);
        if (comm.size > 1)
            memory_on_failure(stop_all_ranks);
        status = run(&comm, announced, &options, err);
        comm_barrier(&comm);
        MPI_Finalize();
    }
    options_fini(&options);
    return status;
}
