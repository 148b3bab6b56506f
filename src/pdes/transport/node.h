/* Memory that the processes of one node share. Includes mpi.h. */
#ifndef AHBM_PDES_NODE_H
#define AHBM_PDES_NODE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/error.h"

/* The processes of `comm` that are on this one's node, in their order: a communicator to be freed.
 * Collective. AHBM_RANKS_PER_NODE=K in the environment, for tests: of a node, each K ranks in a row
 * pass for a node of their own. */
MPI_Comm node_split(MPI_Comm comm);

struct node {
    MPI_Comm comm; /* a duplicate of the caller's */
    MPI_Win window;
    void *memory;        /* of all processes, aligned to 64 bytes, zero at first */
    uint32_t processors; /* that the processes may use together */
};

/* That the processes of `comm`, all on one node, may use together. Collective. */
uint32_t node_processors(MPI_Comm comm);

/* Collective. False on all processes, and `why` says it everywhere, when `comm` spans several nodes
 * or the node lacks the space: an allocation that fails would hang the other processes, so the
 * first one looks before anything is allocated. */
bool node_init(struct node *node, MPI_Comm comm, size_t bytes, struct error *why);
void node_fini(struct node *node);

#endif
