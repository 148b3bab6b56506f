/* Events through memory that the processes of one node share. Includes mpi.h. */
#ifndef AHBM_PDES_TRANSPORT_SHARED_H
#define AHBM_PDES_TRANSPORT_SHARED_H

#include <mpi.h>

#include "pdes/transport.h"
#include "support/error.h"

/* Collective over `comm`, which is duplicated. NULL on all processes when they do not share one
 * node, or when the node has too little memory to share: `why` then says which, everywhere. */
struct transport *transport_shared_new(MPI_Comm comm, struct error *why);

#endif
