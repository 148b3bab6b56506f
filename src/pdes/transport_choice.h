/* Which transport a run uses. Includes mpi.h. */
#ifndef AHBM_PDES_TRANSPORT_CHOICE_H
#define AHBM_PDES_TRANSPORT_CHOICE_H

#include <mpi.h>

#include "pdes/transport.h"
#include "support/error.h"

/* The local transport for one process; else, unless MPI was chosen, shared memory where that is
 * possible, and MPI where it is not: `why` then says why (ERROR_NONE otherwise). Collective; all
 * processes get the same kind. */
struct transport *transport_open(MPI_Comm comm, enum transport_choice choice, struct error *why);

#endif
