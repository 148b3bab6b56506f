#include "pdes/transport_choice.h"

#include "pdes/transport_mpi.h"
#include "pdes/transport_shared.h"

struct transport *transport_open(MPI_Comm comm, enum transport_choice choice, struct error *why)
{
    struct transport *transport = NULL;
    int size;
    error_clear(why);
    MPI_Comm_size(comm, &size);
    if (size == 1)
        return transport_local_new();
    if (choice != TRANSPORT_MPI)
        transport = transport_shared_new(comm, why);
    return transport != NULL ? transport : transport_mpi_new(comm);
}
