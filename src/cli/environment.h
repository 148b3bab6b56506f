/* What has to be known and set before MPI starts. */
#ifndef AHBM_CLI_ENVIRONMENT_H
#define AHBM_CLI_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* As the launcher (mpirun, srun, PMI) announces them; rank 0 of 1 without one. Variables that a
 * process may have inherited without being started by a launcher count for nothing. */
uint32_t environment_rank(void);
uint32_t environment_ranks(void);

/* Ranks on this node, as the launcher says. */
uint32_t environment_ranks_here(void);

/* Whether Open MPI's mpirun started this process, which then ends all ranks when one leaves with a
 * status. */
bool environment_under_mpirun(void);

/* Whether the process was started with SIGHUP ignored, as nohup does. */
bool environment_hangup_ignored(void);

/* Chooses MPI's and HDF5's settings, each unless the user already did: ranks that outnumber their
 * CPUs yield while they wait; ranks of one node do not look for networks; a process that nobody
 * launched starts no daemon; files go through ROMIO, whose errors are reported (docs/adr/0005);
 * HDF5 takes no file locks. And a rank computes on one processor. */
void environment_prepare(void);

#endif
