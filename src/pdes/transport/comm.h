/* The processes of a run: an MPI communicator with the few collective operations that the layers
 * above the engine need. The only header above the transports that shows mpi.h. */
#ifndef AHBM_PDES_COMM_H
#define AHBM_PDES_COMM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/error.h"

struct comm {
    MPI_Comm comm;
    uint32_t rank;
    uint32_t size;
};

/* Borrows `comm`. */
struct comm comm_of(MPI_Comm comm);

/* All processes agree on whether one of them failed: true when none did. Otherwise every `err`
 * holds the error of the lowest failed rank. Collective. */
bool comm_agree(const struct comm *comm, struct error *err);

/* As comm_agree(), after an operation in which the others may wait for ever for a process that
 * failed: who failed waits for them for `seconds`, and if they do not come `*alone` becomes true:
 * the group is of no use any more. */
bool comm_agree_within(const struct comm *comm, uint32_t seconds, struct error *err, bool *alone);

/* Gathers `bytes` (may differ per rank) in rank order at rank 0 into `all` (rank 0 only, room for
 * the sum). Collective. */
void comm_gather(const struct comm *comm, const void *mine, size_t bytes, void *all);

/* The processes on this one's node, and the processors that they may use together. Collective. */
void comm_census(const struct comm *comm, uint32_t *processes, uint32_t *processors);

uint64_t comm_sum(const struct comm *comm, uint64_t value);
/* Element by element, in place. */
void comm_sum_all(const struct comm *comm, uint64_t *values, size_t count);
uint64_t comm_max(const struct comm *comm, uint64_t value);
uint64_t comm_min(const struct comm *comm, uint64_t value);
void comm_broadcast(const struct comm *comm, void *data, size_t bytes);
void comm_barrier(const struct comm *comm);

#endif
