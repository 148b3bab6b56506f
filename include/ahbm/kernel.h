/* A kernel as the program sees it. A user's own one is a shared object that defines
 *
 *     const struct tl_kernel_info ahbm_kernel = {
 *         .abi = TL_KERNEL_ABI, .name = "mine", .summary = "what it does", .run = mine,
 *         .phase = TL_PHASE_DECODE,
 *     };
 *
 * and is run with `--kernel ./mine.so` (docs/kernel-author.md). */
#ifndef AHBM_KERNEL_H
#define AHBM_KERNEL_H

#include <ahbm/tl.h>

/* Grows when struct tl_kernel_info or struct tl_launch change; an object built for another value is
 * refused. */
enum { TL_KERNEL_ABI = 2 };

/* Who decides where the KV cache lies: the option --case, or the kernel by these bits. */
enum tl_placement {
    TL_PLACE_BY_CASE = 0,
    TL_PLACE_FIXED = 1,
    TL_PLACE_CUBE_SP = 2, /* with FIXED: split over the CUBEs of the group */
    TL_PLACE_PE_SP = 4,   /* with FIXED: split over the PEs of a CUBE */
    TL_PLACE_ONE_PE = 8,  /* with FIXED: everything on PE 0 of each CUBE */
};

/* Options of the command line that matter to some kernels, in some cases. */
enum tl_option {
    TL_OPTION_CONTEXT = 1 << 0,
    TL_OPTION_REQUESTS = 1 << 1, /* lengths of their own: launch->contexts */
    TL_OPTION_BATCH = 1 << 2,
    TL_OPTION_QUERY_LEN = 1 << 3,
    TL_OPTION_TILE = 1 << 4,
    TL_OPTION_FORM = 1 << 5,
    TL_OPTION_GEMM = 1 << 6,
    TL_OPTION_MLO = 1 << 7, /* launch->packed */
    TL_OPTION_REDUCE_PE = 1 << 8,
    TL_OPTION_REDUCE_CUBE = 1 << 9,
    TL_OPTION_TP_IDLE = 1 << 10, /* launch->tp_redundant */
    TL_OPTION_SHARDS = 1 << 11,
    TL_OPTION_RING_DEPTH = 1 << 12,
    TL_OPTION_MESSAGE = 1 << 13,
};

/* Those that a kernel looks at when it is launched so: bits of enum tl_option. */
typedef uint32_t tl_options(const struct tl_launch *launch);

struct tl_kernel_info {
    uint32_t abi;
    const char *name;    /* short, without spaces */
    const char *summary; /* one line */
    tl_kernel *run;
    enum tl_phase phase;
    uint32_t placement;     /* bits of enum tl_placement */
    uint32_t group_cubes;   /* CUBEs per group; 0: as --cubes-per-group says */
    uint32_t batch;         /* requests when --batch does not say; 0: 1 */
    bool collective;        /* --message is for it */
    bool stores_everywhere; /* O on every PE, not only on the root */
    bool heads_apart;       /* no grouping: G requests of one head instead of one of G heads */
    uint32_t ring_depth;    /* buffers for KV tiles; 0: as --ring-depth says */
    tl_options *options;    /* an option that no launch of a run looks at is refused; NULL: each may
                               matter */
};

#endif
