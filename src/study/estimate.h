/* What a run will take of a machine's memory, before it does. The estimate is held against measured
 * runs by tests/cli/memory.sh: it is right within a factor of 1.5. */
#ifndef AHBM_STUDY_ESTIMATE_H
#define AHBM_STUDY_ESTIMATE_H

#include "machine/params.h"
#include "study/options.h"
#include "support/error.h"

/* X(id, what it is for, what decides it) */
#define ESTIMATE_PARTS(X)                                                                          \
    X(PROGRAM, "the program and its libraries", "MPI and HDF5")                                    \
    X(MACHINE, "CUBEs and PEs", "topology.*")                                                      \
    X(QUEUES, "queues of the PEs",                                                                 \
      "ipcq.queue_commands, dma.queue_commands, "                                                  \
      "scheduler.pipeline_depth, hbm.pseudo_channels")                                             \
    X(RECORDER, "recorded commands", "--record-ahead")                                             \
    X(TRACE, "the trace", "--trace")                                                               \
    X(VALUES, "values", "--verify, --tensors")                                                     \
    X(RESULTS, "results", "topology.*, the number of points")

#define X(id, what, key) ESTIMATE_##id,
enum estimate_part { ESTIMATE_PARTS(X) ESTIMATE_COUNT };
#undef X

/* Of one process. */
struct estimate {
    uint64_t bytes[ESTIMATE_COUNT];
    uint64_t total;
    uint64_t reserved[ESTIMATE_COUNT]; /* addresses beyond that: stacks are used in part */
    uint64_t mappings;                 /* memory mappings, of which a process may have so many */
};

/* The point of `options` (one kernel, plan.h) with the largest context, one of `points`; `ranks`
 * processes share the machine. Runs a sample of the kernel's programs, without simulating them. */
struct estimate estimate_case(const struct machine_params *params,
                              const struct study_options *options, uint32_t case_number,
                              uint32_t points, uint32_t ranks);

/* Whether a run of `ranks` processes, `here` of them on this node, has the memory it needs;
 * otherwise ERROR_USAGE, with what takes the most of it. `options` must have passed plan_check().
 * Not collective: nodes may differ. */
bool estimate_check(const struct machine_params *params, const struct study_options *options,
                    uint32_t ranks, uint32_t here, struct error *err);

#endif
