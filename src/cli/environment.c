#include "cli/environment.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

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
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID", NULL};
    return number_of(names, 0);
}

uint32_t environment_ranks(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
                                        NULL};
    return number_of(names, 1);
}

uint32_t environment_ranks_here(void)
{
    /* "16(x2)": that many on each node */
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "SLURM_STEP_TASKS_PER_NODE", NULL};
    return number_of(names, 1);
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
    return environment_ranks_here() == environment_ranks() &&
           (told || getenv("PMIX_RANK") == NULL);
}

void environment_prepare(void)
{
    if (environment_ranks_here() > cpus_here())
        setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    if (all_here())
        setenv("OMPI_MCA_btl", "^tcp", 0);
    setenv("OMPI_MCA_io", "^ompio", 0); /* leaves ROMIO, whose name has its version in it */
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
}
