/* The shared HDF5 file: written by all processes, laid out by CUBE, described in
 * docs/output-format.md.
 *
 * All calls are collective over the group given at the start, and all processes return the same.
 * Until results_close() has returned true there is no file under the final name. */
#ifndef AHBM_IO_RESULTS_H
#define AHBM_IO_RESULTS_H

#include "machine/result.h"
#include "results/spool.h"
#include "pdes/transport/comm.h"

struct results;

/* What is known before the first point. All pointers are borrowed for the call only. */
struct results_layout {
    const char *version; /* of the program */
    const char *config;  /* the machine as YAML text */
    uint64_t seed;
    uint32_t points;     /* how many results_point() calls will follow at most */
    uint32_t cubes, pes; /* in the system; per CUBE */
    uint32_t groups;
    uint32_t first_cube, local_cubes; /* this process's block */
    uint64_t hbm_capacity_bytes;      /* of a CUBE */
    uint32_t model_layers;
    bool summary; /* write what sums up the trace: totals by operation */
};

/* KV cache and activations resident in one PE's HBM share, for one layer. */
struct footprint {
    uint64_t kv_bytes;
    uint64_t q_bytes;
    uint64_t o_bytes;
};

enum results_verify { VERIFY_NONE, VERIFY_PASSED, VERIFY_FAILED };

/* One finished point. Scalars and `group_*` arrays are the same on all processes; the arrays over
 * CUBEs hold this process's block, PEs fastest. */
struct results_point {
    const char *phase, *kernel;
    const char *reduce_pe, *reduce_cube, *mlo, *gemm, *form, *tp_idle, *shards;
    uint32_t case_number; /* 0: none */
    uint32_t cubes_per_group;
    uint64_t context;
    uint32_t batch, query_len, tile, query_block, ring_depth; /* the last two: 0 in decode */
    uint64_t latency_ps;                                      /* of the slowest group */
    uint64_t launch_ps;      /* host launch, not part of the latency */
    uint64_t o_gather_bytes; /* that bring a group's O to the PE that holds most of it */
    uint64_t digest;
    uint8_t verify_state;                       /* enum results_verify */
    double verify_rms_relative, verify_max_abs; /* -1: not verified */
    const uint64_t *group_latency_ps;           /* [groups] */
    const struct cube_result *cubes;            /* [local_cubes] */
    const struct pe_result *pe_results;         /* [local_cubes][pes] */
    const struct footprint *footprints;         /* [local_cubes][pes] */
    struct spool *trace;                        /* NULL: no commands recorded */
};

/* The facts of the run, of which none is compared between runs (/run). */
struct results_run {
    uint32_t ranks;
    const char *transport;
    double wall_s;
    uint64_t events, rounds, messages, message_bytes, peak_rss_bytes;
};

/* To be called before MPI_Init(), where the output library would otherwise hook into MPI_Finalize()
 * and write what a failed run has left. Local. */
void results_start(void);

/* Creates the temporary file beside `path`. NULL with `err` (ERROR_FAILED) when it cannot be, e.g.
 * the directory is missing or not writable. */
struct results *results_open(const struct group *group, const char *path,
                             const struct results_layout *layout, struct error *err);

bool results_add(struct results *results, const struct results_point *point, struct error *err);

/* The output O of the next point, before its results_add(): /output/point_NNNNNN, f32
 * [requests, query heads, positions, dim], zero where nothing is put. A box is written by rank 0,
 * which alone needs `data`. */
bool results_output_open(struct results *results, const uint64_t dims[4], struct error *err);
bool results_output_put(struct results *results, const uint64_t start[4], const uint64_t count[4],
                        const float *data, struct error *err);
void results_output_close(struct results *results);

/* Writes what is left, syncs, and renames to the final name. Frees `results` in any case; on
 * failure the temporary file is removed. */
bool results_close(struct results *results, const struct results_run *run, struct error *err);

/* Gives up: removes the temporary file and frees `results`. Not collective. */
void results_abandon(struct results *results);

#endif
