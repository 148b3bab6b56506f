/* What a study is asked to run. Filled by the command line; borrowed by the study. */
#ifndef AHBM_STUDY_OPTIONS_H
#define AHBM_STUDY_OPTIONS_H

#include <ahbm/launch.h>

#include <signal.h>

/* AUTO: commands up to TRACE_AUTO_CONTEXT tokens, summary above. */
enum trace_level { TRACE_AUTO, TRACE_NONE, TRACE_SUMMARY, TRACE_COMMANDS };
enum { TRACE_AUTO_CONTEXT = 65536, CASES = 4 };

struct study_options {
    enum tl_phase phase;
    bool cases[CASES];  /* which of cases 1 to 4 */
    uint64_t *contexts; /* tokens, in the order given */
    uint32_t contexts_count;
    const char *kernel; /* NULL: the phase's */
    uint32_t batch, query_len, cubes_per_group, tile, record_ahead;
    enum tl_reduce reduce_pe, reduce_cube;
    bool packed, tp_redundant;
    enum tl_gemm gemm;
    enum tl_form form;
    enum trace_level trace;
    bool verify;         /* compute, and compare with exact attention */
    bool write_output;   /* O into the result file */
    const char *tensors; /* file with Q, K and V; NULL: generated from the seed */
    uint64_t seed;
    const char *output;
    const volatile sig_atomic_t *stop; /* non-zero: end early */
    /* Called by rank 0 before each point; NULL: not. */
    void (*progress)(uint32_t point, uint32_t points, uint32_t case_number, uint64_t context);
};

#define STUDY_DEFAULT_CONTEXT 8192
#define STUDY_DEFAULT_TILE 1024
#define STUDY_DEFAULT_CUBES_PER_GROUP 8
#define STUDY_DEFAULT_RECORD_AHEAD 64
#define STUDY_DEFAULT_OUTPUT "ahbm-pdes.h5"

/* The words of the command line and of the output file. */
const char *reduce_name(enum tl_reduce reduce);
const char *phase_name(enum tl_phase phase);
const char *form_name(enum tl_form form);
const char *gemm_name(enum tl_gemm gemm);

#endif
