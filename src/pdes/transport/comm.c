#include "pdes/transport/comm.h"

#include "pdes/transport/node.h"

#include <limits.h>
#include <time.h>

#include "support/memory.h"

struct comm comm_of(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    return (struct comm){comm, (uint32_t)rank, (uint32_t)size};
}

/* `first`: the lowest failed rank, or INT_MAX. */
static bool share(const struct comm *comm, int first, struct error *err)
{
    if (first == INT_MAX)
        return true;
    MPI_Bcast(err, sizeof *err, MPI_BYTE, first, comm->comm);
    return false;
}

static int vote(const struct comm *comm, const struct error *err)
{
    return err->code == ERROR_NONE ? INT_MAX : (int)comm->rank;
}

bool comm_agree(const struct comm *comm, struct error *err)
{
    int first = vote(comm, err);
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm->comm);
    return share(comm, first, err);
}

static bool ends_within(MPI_Request *request, uint32_t seconds)
{
    int done = 0;
    for (uint32_t steps = seconds * 1000; steps > 0 && !done; steps--) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
    return done;
}

bool comm_agree_within(const struct comm *comm, uint32_t seconds, struct error *err, bool *alone)
{
    MPI_Request request;
    int first = vote(comm, err);
    *alone = false;
    MPI_Iallreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm->comm, &request);
    if (err->code == ERROR_NONE)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    else if (!ends_within(&request, seconds))
        *alone = true;
    return !*alone && share(comm, first, err);
}

/* MPI counts bytes in an int: what this layer gathers and broadcasts is far smaller. */
static int count_of(size_t bytes)
{
    if (bytes > INT_MAX)
        error_bug("%zu bytes in one collective operation", bytes);
    return (int)bytes;
}

void comm_gather(const struct comm *comm, const void *mine, size_t bytes, void *all)
{
    int count = count_of(bytes);
    int *counts = memory_new(comm->size, sizeof *counts);
    int *starts = memory_new(comm->size, sizeof *starts);
    MPI_Gather(&count, 1, MPI_INT, counts, 1, MPI_INT, 0, comm->comm);
    for (uint32_t i = 1; i < comm->size; i++)
        starts[i] = count_of((size_t)starts[i - 1] + (size_t)counts[i - 1]);
    MPI_Gatherv(mine, count, MPI_BYTE, all, counts, starts, MPI_BYTE, 0, comm->comm);
    memory_free(counts);
    memory_free(starts);
}

static uint64_t reduce(const struct comm *comm, uint64_t value, MPI_Op op)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, op, comm->comm);
    return value;
}

uint64_t comm_sum(const struct comm *comm, uint64_t value)
{
    return reduce(comm, value, MPI_SUM);
}

void comm_sum_all(const struct comm *comm, uint64_t *values, size_t count)
{
    MPI_Allreduce(MPI_IN_PLACE, values, count_of(count), MPI_UINT64_T, MPI_SUM, comm->comm);
}

uint64_t comm_max(const struct comm *comm, uint64_t value)
{
    return reduce(comm, value, MPI_MAX);
}

uint64_t comm_min(const struct comm *comm, uint64_t value)
{
    return reduce(comm, value, MPI_MIN);
}

void comm_broadcast(const struct comm *comm, void *data, size_t bytes)
{
    MPI_Bcast(data, count_of(bytes), MPI_BYTE, 0, comm->comm);
}

void comm_barrier(const struct comm *comm)
{
    MPI_Barrier(comm->comm);
}

void comm_census(const struct comm *comm, uint32_t *processes, uint32_t *processors)
{
    MPI_Comm here;
    int size;
    MPI_Comm_split_type(comm->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &size);
    *processes = (uint32_t)size;
    *processors = node_processors(here);
    MPI_Comm_free(&here);
}
