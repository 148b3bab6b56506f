/* The processes of a run: an MPI communicator with the few collective operations that the layers
 * above the engine need. The only header besides transport_mpi.h that shows mpi.h. */
#ifndef AHBM_PDES_GROUP_H
#define AHBM_PDES_GROUP_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/error.h"

struct group {
    MPI_Comm comm;
    uint32_t rank;
    uint32_t size;
};

/* Borrows `comm`. */
struct group group_of(MPI_Comm comm);

/* All processes agree on whether one of them failed: true when none did. Otherwise every `err`
 * holds the error of the lowest failed rank. Collective. */
bool group_agree(const struct group *group, struct error *err);

/* As group_agree(), after an operation in which the others may wait for ever for a process that
 * failed: who failed waits for them for `seconds`, and if they do not come `*alone` becomes true:
 * the group is of no use any more. */
bool group_agree_within(const struct group *group, uint32_t seconds, struct error *err,
                        bool *alone);

/* Gathers `bytes` (may differ per rank) in rank order at rank 0 into `all` (rank 0 only, room for
 * the sum). Collective. */
void group_gather(const struct group *group, const void *mine, size_t bytes, void *all);

/* The processes on this one's node, and the processors that they may use together. Collective. */
void group_census(const struct group *group, uint32_t *processes, uint32_t *processors);

uint64_t group_sum(const struct group *group, uint64_t value);
/* Element by element, in place. */
void group_sum_all(const struct group *group, uint64_t *values, size_t count);
uint64_t group_max(const struct group *group, uint64_t value);
uint64_t group_min(const struct group *group, uint64_t value);
void group_broadcast(const struct group *group, void *data, size_t bytes);
void group_barrier(const struct group *group);

#endif
