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
};

#endif
