#include "pdes/transport/node.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Left for others: MPI's own messages go through files of the same file system. */
#define SPARE_BYTES (UINT64_C(16) << 20)
enum { ALIGNMENT = 64 };

/* Where Open MPI puts shared windows. */
static const char *backing_directory(void)
{
    const char *chosen = getenv("OMPI_MCA_osc_sm_backing_directory");
    if (chosen != NULL)
        return chosen;
    if (access("/dev/shm", W_OK) == 0)
        return "/dev/shm";
    const char *temporary = getenv("TMPDIR");
    return temporary != NULL ? temporary : "/tmp";
}

static bool has_space(size_t bytes, struct error *why)
{
    const char *directory = backing_directory();
    struct statvfs file_system;
    if (statvfs(directory, &file_system) != 0)
        return error_set(why, ERROR_FAILED, "the space in %s is unknown", directory);
    uint64_t free_bytes = (uint64_t)file_system.f_bavail * file_system.f_frsize;
    if (free_bytes >= bytes + SPARE_BYTES)
        return true;
    return error_set(why, ERROR_FAILED, "%s has %llu MiB free, of %llu MiB needed", directory,
                     (unsigned long long)(free_bytes >> 20),
                     (unsigned long long)((bytes + SPARE_BYTES) >> 20) + 1);
}

MPI_Comm node_split(MPI_Comm comm)
{
    MPI_Comm node, part;
    const char *pretended = getenv("AHBM_RANKS_PER_NODE");
    int ranks = pretended != NULL ? (int)strtol(pretended, NULL, 10) : 0, rank;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    if (ranks <= 0)
        return node;
    MPI_Comm_rank(node, &rank);
    MPI_Comm_split(node, rank / ranks, rank, &part);
    MPI_Comm_free(&node);
    return part;
}

static bool one_node(MPI_Comm comm, struct error *why)
{
    MPI_Comm here = node_split(comm);
    int size, local;
    MPI_Comm_size(comm, &size);
    MPI_Comm_size(here, &local);
    MPI_Comm_free(&here);
    if (local == size) /* on one process exactly when on all */
        return true;
    return error_set(why, ERROR_FAILED, "the processes are on several nodes");
}

/* Processes that are bound to a processor each may use as many as there are of them. */
uint32_t node_processors(MPI_Comm comm)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    MPI_Allreduce(MPI_IN_PLACE, &set, sizeof set, MPI_BYTE, MPI_BOR, comm);
    return (uint32_t)CPU_COUNT(&set);
}

static bool allocate(struct node *node, size_t bytes, int rank, struct error *why)
{
    MPI_Aint size;
    int unit, ok;
    MPI_Comm_set_errhandler(node->comm, MPI_ERRORS_RETURN);
    MPI_Aint mine = rank == 0 ? (MPI_Aint)(bytes + ALIGNMENT) : 0;
    ok = MPI_Win_allocate_shared(mine, 1, MPI_INFO_NULL, node->comm, &node->memory,
                                 &node->window) == MPI_SUCCESS;
    MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, node->comm);
    if (!ok)
        return error_set(why, ERROR_FAILED, "MPI has no shared memory to give");
    MPI_Win_shared_query(node->window, 0, &size, &unit, &node->memory);
    /* A window begins behind MPI's own words; pages are mapped at pages, so all round alike. */
    uintptr_t at = (uintptr_t)node->memory;
    node->memory = (uint8_t *)node->memory + (ALIGNMENT - at % ALIGNMENT) % ALIGNMENT;
    if (rank == 0)
        memset(node->memory, 0, bytes); /* every page: the space stays ours */
    MPI_Barrier(node->comm);
    return true;
}

bool node_init(struct node *node, MPI_Comm comm, size_t bytes, struct error *why)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (!one_node(comm, why))
        return false;
    if (rank == 0)
        has_space(bytes, why);
    MPI_Bcast(why, sizeof *why, MPI_BYTE, 0, comm);
    if (why->code != ERROR_NONE)
        return false;
    MPI_Comm_dup(comm, &node->comm);
    node->processors = node_processors(comm);
    if (allocate(node, bytes, rank, why))
        return true;
    MPI_Comm_free(&node->comm);
    return false;
}

void node_fini(struct node *node)
{
    MPI_Win_free(&node->window);
    MPI_Comm_free(&node->comm);
}
