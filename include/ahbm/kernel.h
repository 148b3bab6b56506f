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

#include <stddef.h>

#include <ahbm/tl.h>

/* Grows when struct tl_kernel_info or struct tl_launch change; an object built for another value is
 * refused. */
enum { TL_KERNEL_ABI = 4 };

/* Who decides where the KV cache lies: the option --case, or the kernel by these bits. */
enum tl_placement {
    TL_PLACE_BY_CASE = 0,
    TL_PLACE_FIXED = 1,
    TL_PLACE_CUBE_SP = 2, /* with FIXED: split over the CUBEs of the group */
    TL_PLACE_PE_SP = 4,   /* with FIXED: split over the PEs of a CUBE */
    TL_PLACE_ONE_PE = 8,  /* with FIXED: everything on PE 0 of each CUBE */
};

/* Those that a kernel looks at when it is launched so: bits of enum tl_option. */
typedef uint32_t tl_options(const struct tl_launch *launch);

/* What a region of a PE's share holds. DATA is no part of an attention problem: bytes alone. */
enum tl_tensor_name { TL_TENSOR_Q, TL_TENSOR_K, TL_TENSOR_V, TL_TENSOR_O, TL_DATA };

/* `rows` rows of head_dim bf16 elements of a tensor at `addr` of the PE's share. Row i is of query
 * head `head + (i / rows_per_head) * head_step` of the group (K and V: 0, the group's KV head), and
 * of token (K, V) or query position (Q, O) `token + (i % rows_per_head) * token_step` of `request`.
 *
 * Example: tokens 3, 11, 19 and 27 of K as a round-robin shard over 8 PEs, in tiles of 1024:
 * rows = rows_per_head = 4, token = 3, token_step = 8, block = 1024. */
struct tl_region {
    enum tl_tensor_name tensor;
    uint32_t request; /* of the launch */
    uint64_t addr;    /* bytes from the start of the share, or of the stack if `stack` */
    bool stack;       /* K and V, with launch->kv_stack: striped (tl_ref_stack()) */
    uint32_t block;   /* rows of a block, each stored transposed: [head_dim, rows of the block], a
                         ragged last one dense in itself; 0: row after row */
    uint32_t head, head_step;
    uint64_t rows, rows_per_head;
    uint64_t token, token_step;
    uint64_t bytes; /* of DATA; else rows * head_dim * 2 count */
};

/* Is shown regions one after another; may be embedded in a larger struct of whoever asks. */
struct tl_visitor {
    void (*visit)(struct tl_visitor *visitor, const struct tl_region *region);
};

/* Shows every region of PE (launch->cube, launch->pe) of the group: where Q, K and V lie, and where
 * the kernel may store O (where it stores copies, one place only). Regions do not overlap. From
 * this one function follow the PE's footprint, what --verify puts into its memory and where it
 * looks for O. */
typedef void tl_layout(const struct tl_launch *launch, struct tl_visitor *visitor);

/* Fills what follows from the launch and what the user left open (query_len, tile, query_block: 0),
 * and the addresses. Geometry, problem, placement and form are there. Must take any of them: what
 * cannot run is check()'s to refuse. */
typedef void tl_choose(struct tl_launch *launch);

/* Whether the kernel can run so; else false, and one line into `why` of `size` bytes that names the
 * option or the key of the machine file. Asked after choose(), before anything runs, for each case
 * and context. What needs the program itself is better refused by tl_fail(): every kernel is
 * rehearsed before a run. */
typedef bool tl_check(const struct tl_launch *launch, char *why, size_t size);

struct tl_kernel_info {
    uint32_t abi;
    const char *name;    /* short, without spaces */
    const char *summary; /* one line */
    tl_kernel *run;
    enum tl_phase phase;
    uint32_t placement;   /* bits of enum tl_placement */
    uint32_t group_cubes; /* CUBEs per group; 0: as --cubes-per-group says */
    uint32_t batch;       /* requests when --batch does not say; 0: 1 */
    bool collective;      /* --message is for it */
    bool heads_apart;     /* no grouping: G requests of one head instead of one of G heads */
    tl_choose *choose;    /* these three: NULL: as the shipped kernel of the phase */
    tl_check *check;
    tl_layout *layout;
    tl_options *options; /* an option that no launch of a run looks at is refused; NULL: each may
                            matter */
    const struct tl_own_option *own; /* options that only this kernel has, ended by a row without
                                        name, TL_OWN_OPTIONS of them at most; NULL: none */
};

#endif
