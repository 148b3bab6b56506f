/* The shared HDF5 file: written by all processes, laid out by CUBE, described in
 * docs/output-format.md.
 *
 * All calls are collective over the group given at the start, and all processes return the same.
 * Until results_close() has returned true there is no file under the final name. */
#ifndef AHBM_RESULTS_H
#define AHBM_RESULTS_H

#include <stdio.h>

#include "machine/result.h"
#include "results/spool.h"
#include "pdes/transport/comm.h"

struct results;

enum results_type { RESULTS_U8, RESULTS_U32, RESULTS_U64, RESULTS_F64, RESULTS_TEXT };

/* A value that each point has, in the structure of the point's scalars. A text is a pointer there.
 */
struct results_scalar {
    const char *name, *units, *description;
    enum results_type type;
    size_t offset;
};

/* What is known before the first point. Pointers are borrowed for the call only, if nothing else is
 * said. */
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
    bool summary;                         /* write what sums up the trace: totals by operation */
    const struct results_scalar *scalars; /* to stay until the end */
    uint32_t scalars_count;
};

/* KV cache and activations resident in one PE's HBM share, for one layer. */
struct footprint {
    uint64_t kv_bytes;
    uint64_t q_bytes;
    uint64_t o_bytes;
};

/* Sums over a CUBE's PEs, and against its capacity. */
struct cube_footprint {
    uint64_t kv_bytes;
    uint64_t kv_bytes_all_layers; /* UINT64_MAX: that or more */
    uint8_t fits;
};

enum results_verify { VERIFY_NONE, VERIFY_PASSED, VERIFY_FAILED };

/* One finished point. Scalars and `group_*` arrays are the same on all processes; the arrays over
 * CUBEs hold this process's block, PEs fastest. */
struct results_point {
    const void *scalars;                          /* as the layout's rows describe them */
    const uint64_t *group_latency_ps;             /* [groups] */
    const struct cube_result *cubes;              /* [local_cubes] */
    const struct pe_result *pe_results;           /* [local_cubes][pes] */
    const struct footprint *footprints;           /* [local_cubes][pes] */
    const struct cube_footprint *cube_footprints; /* [local_cubes] */
    struct spool *trace;                          /* NULL: no commands recorded */
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
struct results *results_open(const struct comm *comm, const char *path,
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

/* One line per array of /points that is no scalar, as a row of a table: name, type, axes, units,
 * "-", where, description. Local. */
void results_list(FILE *out);

/* Gives up: removes the temporary file and frees `results`. Not collective. */
void results_abandon(struct results *results);

#endif
