#include "pdes/transport/choice.h"

#include "pdes/transport/node.h"
#include "pdes/transport/hybrid.h"
#include "pdes/transport/messages.h"
#include "pdes/transport/shared.h"

/* With shared memory wherever there is a node to share it. `here`: the processes of this node. */
static struct transport *open_sharing(MPI_Comm comm, MPI_Comm here, struct error *why)
{
    int size, local, largest;
    MPI_Comm_size(comm, &size);
    MPI_Comm_size(here, &local);
    if (local == size) /* on one process exactly when on all */
        return transport_shared_new(here, NULL, why);
    MPI_Allreduce(&local, &largest, 1, MPI_INT, MPI_MAX, comm);
    if (largest > 1)
        return transport_hybrid_new(comm, here, why);
    error_set(why, ERROR_FAILED, "every process is on a node of its own");
    return NULL;
}

struct transport *transport_open(MPI_Comm comm, enum transport_choice choice, struct error *why)
{
    struct transport *transport = NULL;
    int size;
    error_clear(why);
    MPI_Comm_size(comm, &size);
    if (size == 1)
        return transport_local_new();
    if (choice != TRANSPORT_MPI) {
        MPI_Comm here = node_split(comm);
        transport = open_sharing(comm, here, why);
        MPI_Comm_free(&here);
    }
    return transport != NULL ? transport : transport_mpi_new(comm);
}
