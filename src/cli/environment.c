#include "cli/environment.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

/* What a launcher gives to each process that it starts. `mark` tells such a process from one whose
 * user, or whose batch script, merely has the other two in its environment. */
struct launcher {
    const char *rank, *ranks, *mark;
};

static const struct launcher launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"}, /* Open MPI's mpirun */
    {"PMI_RANK", "PMI_SIZE", "PMI_FD"},                        /* MPICH's, and srun --mpi=pmi2 */
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"}, /* srun */
    {NULL, NULL, NULL},
};

static bool hangup_ignored;

/* Runs before the libraries of the program begin: libucs, which Open MPI 5 and MPICH 4 bring along,
 * puts a handler of its own in the place of what nohup left there. */
static void look_at_hangup(void)
{
    struct sigaction now;
    hangup_ignored = sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = look_at_hangup;

bool environment_hangup_ignored(void)
{
    return hangup_ignored;
}

/* Whether the variable is a whole number and nothing else. */
static bool number_in(const char *name, uint32_t *value)
{
    const char *text = getenv(name);
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return false;
    unsigned long wide = strtoul(text, &end, 10);
    *value = (uint32_t)wide;
    return *end == '\0' && wide <= UINT32_MAX;
}

/* The rank of this process and how many there are: 0 of 1 when no launcher can be believed. */
static uint32_t rank_of(uint32_t *ranks)
{
    uint32_t rank;
    for (const struct launcher *launcher = launchers; launcher->rank != NULL; launcher++)
        if (getenv(launcher->mark) != NULL && number_in(launcher->rank, &rank) &&
            number_in(launcher->ranks, ranks) && rank < *ranks)
            return rank;
    *ranks = 1;
    return 0;
}

/* The first of the variables that is set to a number. */
static uint32_t number_of(const char *const *names, uint32_t otherwise)
{
    for (; *names != NULL; names++) {
        const char *text = getenv(*names);
        char *end;
        unsigned long value = text ? strtoul(text, &end, 10) : 0;
        if (text != NULL && end != text)
            return (uint32_t)value;
    }
    return otherwise;
}

uint32_t environment_rank(void)
{
    uint32_t ranks;
    return rank_of(&ranks);
}

uint32_t environment_ranks(void)
{
    uint32_t ranks;
    rank_of(&ranks);
    return ranks;
}

uint32_t environment_ranks_here(void)
{
    /* "16(x2)": that many on each node */
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "SLURM_STEP_TASKS_PER_NODE", NULL};
    return number_of(names, 1);
}

bool environment_under_mpirun(void)
{
    return getenv("OMPI_COMM_WORLD_RANK") != NULL;
}

static uint32_t cpus_here(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

/* Whether all ranks are known to be on this node: one whose launcher is unknown may not be. */
static bool all_here(void)
{
    bool told = getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("SLURM_STEP_NUM_TASKS") != NULL;
    return environment_ranks_here() == environment_ranks() && (told || getenv("PMIX_RANK") == NULL);
}

/* Whether a launcher started this process, known or not. */
static bool launched(void)
{
    for (const struct launcher *launcher = launchers; launcher->rank != NULL; launcher++)
        if (getenv(launcher->mark) != NULL)
            return true;
    return getenv("PMIX_RANK") != NULL || getenv("OMPI_COMM_WORLD_SIZE") != NULL;
}

void environment_prepare(void)
{
    if (environment_ranks_here() > cpus_here())
        setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    if (all_here()) {
        setenv("OMPI_MCA_btl", "^tcp,uct,openib,ofi", 0); /* Debian's own choice, and TCP */
        setenv("OMPI_MCA_pml", "ob1", 0); /* opens no library that drives networks: 0.2 s */
    }
    if (!launched()) {
        /* The daemon that Open MPI 4 starts here has nobody to serve: 0.2 s. Without it all such
         * processes have one folder for what ranks share; one that ends would take it from others.
         */
        setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
        setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
    }
    /* Open MPI's handler of a crash prints a trace, for which it allocates: a process that crashes
     * while it allocates would hang. Without it the kernel ends the process, and makes a core file. */
    setenv("OMPI_MCA_opal_signal", "", 0);
    setenv("OMPI_MCA_io", "^ompio", 0); /* leaves ROMIO, whose name has its version in it */
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* while there is one thread: values/blas.c */
}
