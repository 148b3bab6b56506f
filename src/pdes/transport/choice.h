/* Which transport a run uses. Includes mpi.h. */
#ifndef AHBM_PDES_TRANSPORT_CHOICE_H
#define AHBM_PDES_TRANSPORT_CHOICE_H

#include <mpi.h>

#include "pdes/transport/transport.h"
#include "support/error.h"

/* The local transport for one process; else, unless MPI was chosen, shared memory on one node, and
 * on several shared memory inside them and MPI between them. MPI where a node lacks the space or no
 * two processes share one: `why` then says why (ERROR_NONE otherwise). Collective; all processes
 * get the same kind. */
struct transport *transport_open(MPI_Comm comm, enum transport_choice choice, struct error *why);

#endif
