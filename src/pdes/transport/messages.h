/* Events as MPI messages over a communicator of the caller's. Includes mpi.h: only the code that
 * starts MPI needs it. */
#ifndef AHBM_PDES_TRANSPORT_MPI_H
#define AHBM_PDES_TRANSPORT_MPI_H

#include <mpi.h>

#include "pdes/transport/transport.h"

/* Collective over `comm`, which is duplicated: the caller keeps its own. */
struct transport *transport_mpi_new(MPI_Comm comm);

/* One round with the neighbours only: sends every `out`, fills every `in`. The values go along, and
 * those of the neighbours are merged into `heard`, which may be `values` itself; NULL: not wanted.
 */
void transport_mpi_round(struct transport *transport, const struct least *values,
                         struct least *heard, uint32_t count);

#endif
