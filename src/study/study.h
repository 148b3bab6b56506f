/* Runs the points of a study and writes the results. */
#ifndef AHBM_STUDY_STUDY_H
#define AHBM_STUDY_STUDY_H

#include <stdio.h>

#include "machine/params.h"
#include "pdes/transport/comm.h"
#include "prog/op.h"
#include "study/options.h"
#include "study/summary_list.h"

#define U8 uint8_t
#define U32 uint32_t
#define U64 uint64_t
#define F64 double
#define TEXT const char *
#define BOOL bool
#define CODE uint64_t
#define X(type, member, ...) type member;
/* What is told of a point: the rows of summary_list.h, and what is no single value. */
struct point_summary {
    SUMMARY_ROWS(X)
    uint64_t commands[COUNT_KINDS], commands_total[COUNT_KINDS]; /* of group 0; of all */
    uint64_t busy_max_ps[ENGINE_KINDS];                          /* of a PE of group 0 */
    enum engine_kind busiest;                                    /* the engine with the most */
    bool verified; /* the rest is of a verified point only */
    bool verify_passed;
    uint64_t output_digest;
    uint64_t output_missing, output_repeated; /* rows of O stored by no PE, by several */
};
#undef X
#undef U8
#undef U32
#undef U64
#undef F64
#undef TEXT
#undef BOOL
#undef CODE

/* Over the processes. */
struct spread {
    double least, mean, most;
};

struct study_run_facts {
    uint64_t events, rounds, messages, message_bytes;
    uint64_t busiest_events;  /* of the busiest CUBE of each point */
    uint64_t critical_events; /* engine.h; the largest of the processes' */
    uint64_t peak_rss_bytes;  /* of the largest process */
    double wall_s, verify_s;
    struct spread model_s, sync_s, output_s; /* what the processes spent their time on */
    struct spread model_processor_s;         /* within model_s */
    const char *transport;
    char transport_note[256]; /* why it is not shared memory; empty: as it should be */
};

struct study_report {
    struct point_summary *points; /* complete on rank 0; owned, freed by study_report_fini() */
    uint32_t count;               /* finished */
    uint32_t wrong;               /* of these, failed verification */
    struct study_run_facts run;
};

enum study_status { STUDY_DONE, STUDY_FAILED, STUDY_STOPPED };

/* To be called before MPI_Init(): keeps the output library from hooking into MPI_Finalize(), where
 * it would write, and crash on, what a failed run has left. */
void study_start(void);

/* Runs all points (plan.h) and writes options->output. Collective. On failure every
 * process has the same `err`; an older output file is untouched. A wrong output of a kernel is a
 * result: the study goes on, and report->wrong counts it. */
enum study_status study_run(const struct comm *comm, const struct machine_params *params,
                            const char *config_text, const struct study_options *options,
                            struct study_report *report, struct error *err);

/* Whether every verified point passed; otherwise ERROR_FAILED with the first that did not. The same
 * on all processes. */
bool study_verdict(const struct study_report *report, struct error *err);

/* What study_run() checks before it simulates: whether every point can be run at all, and each
 * option that was given has an effect. Without MPI. */
bool study_check(const struct machine_params *params, const struct study_options *options,
                 uint32_t ranks, uint32_t here, struct error *err);

/* Of a kernel's name as much as fits into a table is printed. */
enum { KERNEL_NAME_SHOWN = 64 };

/* One line per kernel and per set of kernels, its name first. */
void study_list_kernels(FILE *out);

/* One line per point, with the memory that each of `ranks` processes needs for it; `options` must
 * have passed study_check(). */
void study_list_points(const struct machine_params *params, const struct study_options *options,
                       uint32_t ranks, FILE *out);

/* CUBEs of the machine: the most ranks that can take part. */
uint32_t study_cubes(const struct machine_params *params);

void study_report_fini(struct study_report *report);

#endif
