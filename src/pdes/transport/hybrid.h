/* Events through shared memory inside nodes and as MPI messages between them. Includes mpi.h. */
#ifndef AHBM_PDES_TRANSPORT_HYBRID_H
#define AHBM_PDES_TRANSPORT_HYBRID_H

#include <mpi.h>

#include "pdes/transport/transport.h"
#include "support/error.h"

/* Collective over `comm`; `here`: the processes of this one's node, in the order of `comm`. Both
 * are duplicated. Any part of a node may pass for a node, also one process alone. NULL on all
 * processes when some node has too little memory to share: `why` then says which, everywhere. */
struct transport *transport_hybrid_new(MPI_Comm comm, MPI_Comm here, struct error *why);

#endif
