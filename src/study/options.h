/* What a study is asked to run. Filled by the command line; borrowed by the study. */
#ifndef AHBM_STUDY_OPTIONS_H
#define AHBM_STUDY_OPTIONS_H

#include <ahbm/kernel.h>

#include <signal.h>

#include "machine/cube.h"
#include "pdes/core/engine.h"

/* AUTO: commands up to TRACE_AUTO_CONTEXT tokens, summary above. */
enum trace_level { TRACE_AUTO, TRACE_NONE, TRACE_SUMMARY, TRACE_COMMANDS };
enum { TRACE_AUTO_CONTEXT = 65536, CASES = 4 };

struct study_options {
    uint32_t given;     /* bits of enum tl_option: what the user asked for by name */
    const char *phase;  /* the word; NULL: it is the kernel's */
    bool cases[CASES];  /* which of cases 1 to 4 */
    bool cases_given;   /* else a kernel may have a placement of its own */
    uint64_t *contexts; /* tokens, in the order given */
    uint32_t contexts_count;
    uint64_t *request_contexts; /* [batch], each request's own (requests.h), at most the point's;
                                   NULL: all have the point's */
    const char *kernel;         /* that one point runs; NULL: that of the phase, or the first */
    const struct tl_kernel_info
        *object;    /* `kernel` when it is a file, as kernels_load() found it */
    char **kernels; /* asked for, each in turn as `kernel`; NULL: `kernel` alone. Owned by whoever
                       filled it (kernel_names()) */
    const struct tl_kernel_info **objects; /* of `kernels`, those that are files: kernels_load() */
    uint32_t kernels_count;
    /* 0: not given, the kernel or the phase decides. */
    uint32_t batch, query_len, cubes_per_group;
    uint32_t record_ahead;
    uint64_t message; /* bytes; 0: none */

    /* As in struct tl_launch (ahbm/options.h). */
    TL_OPTION_FIELDS

    const char **own; /* "NAME=VALUE" of kernels' own options, in the order given (own_options.h) */
    uint32_t own_count;
    char *own_text; /* the same, separated by commas; NULL: none was given */
    enum trace_level trace;
    bool verify;         /* compute, and compare with exact attention */
    bool write_output;   /* O into the result file */
    const char *tensors; /* file with Q, K and V; NULL: generated from the seed */
    uint64_t seed;
    enum transport_choice transport;
    uint32_t ranks_here, processors; /* of this node (comm_census()) */
    enum lookahead_kind lookahead;   /* what promises are made from */
    const char *output;
    const volatile sig_atomic_t *stop; /* non-zero: end early */
    /* Called by rank 0 before each point; NULL: not. */
    void (*progress)(uint32_t point, uint32_t points, const char *kernel, uint32_t case_number,
                     uint64_t context);
};

#define STUDY_CONTEXT_MAX (UINT64_C(1) << 36) /* tokens */
#define STUDY_BATCH_MAX 65536
#define STUDY_DEFAULT_CONTEXT 8192
#define STUDY_DEFAULT_CUBES_PER_GROUP 8
#define STUDY_DEFAULT_RECORD_AHEAD 64
#define STUDY_DEFAULT_OUTPUT "ahbm-pdes.h5"

/* What a kernel looks at; `words` and `help` of those that have rows in ahbm/options.h. */
enum { OPTION_WORDS = 6 };
struct option_row {
    const char *name, *help;
    const char *words[OPTION_WORDS]; /* ended by NULL; none: a number */
};

const struct option_row *option_row(enum tl_option_number number);

#endif
