/* What a kernel is launched with. Everything here is the same for all PEs except the geometry
 * fields; all of it is fixed before the simulation starts. */
#ifndef AHBM_LAUNCH_H
#define AHBM_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ahbm/options.h>

/* The shape of a reduction to the root, per level. */
enum tl_reduce { TL_REDUCE_CHAIN, TL_REDUCE_TREE, TL_REDUCE_CENTRE };

enum tl_phase { TL_PHASE_DECODE, TL_PHASE_PREFILL };
enum tl_form { TL_FORM_AUTO, TL_FORM_ONE_SHOT, TL_FORM_TILED, TL_FORM_SOFTMAX_MERGE };
enum tl_gemm { TL_GEMM_COMPOSITE, TL_GEMM_DOT };

/* How the query positions of a prefill are dealt to the PEs of a CUBE
 * (kernels/prefill/prefill_place.h). */
enum tl_shards { TL_SHARDS_CONTIGUOUS, TL_SHARDS_STRIPED, TL_SHARDS_ZIGZAG };

struct tl_launch {
    /* Geometry. A PE is (cube, pe): its CUBE's number within the group and its number within the
     * CUBE. CUBEs of a group and PEs of a CUBE both use the reduction numbering (docs/kernels.md).
     */
    uint32_t group;                   /* which KV-head group */
    uint32_t group_cubes;             /* C */
    uint32_t cube;                    /* 0 .. C-1 */
    uint32_t pe;                      /* 0 .. pes-1 */
    uint32_t cube_columns, cube_rows; /* the group's grid */
    bool cube_wraps; /* a wrap link joins the ends of the group's rows: whole rows of a torus */
    uint32_t pe_columns, pe_rows, pes;

    /* The attention problem: one KV head and its query heads. */
    enum tl_phase phase;
    uint64_t context;         /* S, tokens */
    uint32_t batch;           /* B, requests */
    uint32_t request_heads;   /* of a kernel with `heads_apart`: requests n * request_heads and the
                                 following are the query heads of one; else 1 (0 is 1, too) */
    const uint64_t *contexts; /* decode: contexts[r / request_heads] is the length of request r, at
                                 most `context`; NULL: all have `context` */
    uint32_t query_len;       /* T_q, positions per request */
    uint32_t group_heads;     /* G, query heads per KV head */
    uint32_t head_dim;        /* d */

    /* What the options say (ahbm/options.h): `tile` KV tokens per tile and per stored block,
     * `packed`: (m, l, O) travel as one copy instead of three, `tp_redundant`: PEs without a
     * request sweep for nothing, `ring_depth` buffers for arriving KV blocks, `kv_stack`: K and V
     * are striped over the shares of the CUBE. */
    TL_OPTION_FIELDS

    /* Values of the kernel's own options, in the order of its rows; behind them 0. */
    uint64_t own[TL_OWN_OPTIONS];

    /* Placement. */
    bool cube_sp; /* the KV cache is split over CUBEs, else replicated */
    bool pe_sp;   /* the KV cache is split over the PEs of a CUBE, else one PE has it */
    bool one_pe;  /* no SP at all: PE 0 of each CUBE has everything and does everything */

    /* Collectives only: bytes of the vector that each PE brings, at q_base; its sum goes to o_base.
     * 0: an attention problem. */
    uint64_t message;

    /* Prefill only, but for the last. */
    uint32_t query_block;    /* query positions worked on at a time */
    uint64_t scratch_bytes;  /* of a PE */
    uint64_t queue_commands; /* receives that a queue pair of a PE accepts */

    uint64_t stripe_bytes; /* of the CUBE's stack that lie in one share, before the next one's */

    /* Addresses within each PE's HBM share, the same in all. Request r's regions start at base + r
     * * stride; which tokens and rows they hold is arithmetic on the geometry above.
     *
     * K holds [d, tile] blocks, V [tile, d] blocks, bf16, one per `tile` tokens of the PE, a ragged
     * last block dense in itself ([d, width]) and padded in address.
     *   decode   tokens as include/ahbm/kit/placement.h deals them
     *   prefill  tokens as kernels/prefill/prefill_place.h deals them: key_tile()
     * Q and O are bf16.
     *   decode   [G * T_q, d], row = head * T_q + position, on each PE that works on the request;
     *            O on the root
     *   prefill  the PE's query blocks one after another, each [heads, positions, d] with the heads
     *            of its CUBE: query_block()
     * S is where a prefill keeps the running (m, l, O) that do not fit into scratch: f32, per query
     * block O [rows, d], m [rows], l [rows].
     *
     * With kv_stack K and V lie striped over the shares of the CUBE: k_base and v_base are
     * addresses of the stack, and PE p's regions of request r start at base + (r * pes + p) *
     * kv_stride (include/ahbm/kit/homes.h). */
    uint64_t q_base, q_stride;
    uint64_t k_base, v_base, kv_stride;
    uint64_t o_base, o_stride;
    uint64_t s_base;
};

/* The length of request r. */
static inline uint64_t tl_context(const struct tl_launch *launch, uint32_t r)
{
    uint32_t heads = launch->request_heads > 0 ? launch->request_heads : 1;
    return launch->contexts != NULL ? launch->contexts[r / heads] : launch->context;
}

#endif
