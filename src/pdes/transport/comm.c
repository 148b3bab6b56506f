#include "pdes/transport/comm.h"

#include "pdes/transport/node.h"

#include <limits.h>
#include <time.h>

#include "support/memory.h"

struct group group_of(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    return (struct group){comm, (uint32_t)rank, (uint32_t)size};
}

/* `first`: the lowest failed rank, or INT_MAX. */
static bool share(const struct group *group, int first, struct error *err)
{
    if (first == INT_MAX)
        return true;
    MPI_Bcast(err, sizeof *err, MPI_BYTE, first, group->comm);
    return false;
}

static int vote(const struct group *group, const struct error *err)
{
    return err->code == ERROR_NONE ? INT_MAX : (int)group->rank;
}

bool group_agree(const struct group *group, struct error *err)
{
    int first = vote(group, err);
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, group->comm);
    return share(group, first, err);
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

bool group_agree_within(const struct group *group, uint32_t seconds, struct error *err, bool *alone)
{
    MPI_Request request;
    int first = vote(group, err);
    *alone = false;
    MPI_Iallreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, group->comm, &request);
    if (err->code == ERROR_NONE)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    else if (!ends_within(&request, seconds))
        *alone = true;
    return !*alone && share(group, first, err);
}

/* MPI counts bytes in an int: what this layer gathers and broadcasts is far smaller. */
static int count_of(size_t bytes)
{
    if (bytes > INT_MAX)
        error_bug("%zu bytes in one collective operation", bytes);
    return (int)bytes;
}

void group_gather(const struct group *group, const void *mine, size_t bytes, void *all)
{
    int count = count_of(bytes);
    int *counts = memory_new(group->size, sizeof *counts);
    int *starts = memory_new(group->size, sizeof *starts);
    MPI_Gather(&count, 1, MPI_INT, counts, 1, MPI_INT, 0, group->comm);
    for (uint32_t i = 1; i < group->size; i++)
        starts[i] = count_of((size_t)starts[i - 1] + (size_t)counts[i - 1]);
    MPI_Gatherv(mine, count, MPI_BYTE, all, counts, starts, MPI_BYTE, 0, group->comm);
    memory_free(counts);
    memory_free(starts);
}

static uint64_t reduce(const struct group *group, uint64_t value, MPI_Op op)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, op, group->comm);
    return value;
}

uint64_t group_sum(const struct group *group, uint64_t value)
{
    return reduce(group, value, MPI_SUM);
}

void group_sum_all(const struct group *group, uint64_t *values, size_t count)
{
    MPI_Allreduce(MPI_IN_PLACE, values, count_of(count), MPI_UINT64_T, MPI_SUM, group->comm);
}

uint64_t group_max(const struct group *group, uint64_t value)
{
    return reduce(group, value, MPI_MAX);
}

uint64_t group_min(const struct group *group, uint64_t value)
{
    return reduce(group, value, MPI_MIN);
}

void group_broadcast(const struct group *group, void *data, size_t bytes)
{
    MPI_Bcast(data, count_of(bytes), MPI_BYTE, 0, group->comm);
}

void group_barrier(const struct group *group)
{
    MPI_Barrier(group->comm);
}

void group_census(const struct group *group, uint32_t *processes, uint32_t *processors)
{
    MPI_Comm here;
    int size;
    MPI_Comm_split_type(group->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &size);
    *processes = (uint32_t)size;
    *processors = node_processors(here);
    MPI_Comm_free(&here);
}
