/* Events through memory that the processes of one node share. Includes mpi.h. */
#ifndef AHBM_PDES_TRANSPORT_SHARED_H
#define AHBM_PDES_TRANSPORT_SHARED_H

#include <mpi.h>

#include "pdes/transport/transport.h"
#include "support/error.h"

/* Collective over `comm`, which is duplicated. NULL on all processes when they do not share one
 * node, or when the node has too little memory to share: `why` then says which, everywhere.
 * Whoever waits calls `meanwhile` now and then (NULL: nothing to do). */
struct transport *transport_shared_new(MPI_Comm comm, void (*meanwhile)(void), struct error *why);

/* Collective: gives all processes the values of rank 0. Between two of these all exchange() or take
 * a minimum(). */
void transport_shared_publish(struct transport *transport, struct least *values, uint32_t count);

#endif
