/* What a kernel is launched with. Everything here is the same for all PEs except the geometry
 * fields; all of it is fixed before the simulation starts. */
#ifndef AHBM_LAUNCH_H
#define AHBM_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

/* The shape of a reduction to the root, per level. */
enum tl_reduce { TL_REDUCE_CHAIN, TL_REDUCE_TREE, TL_REDUCE_CENTRE };

enum tl_phase { TL_PHASE_DECODE, TL_PHASE_PREFILL };
enum tl_form { TL_FORM_AUTO, TL_FORM_ONE_SHOT, TL_FORM_TILED, TL_FORM_SOFTMAX_MERGE };
enum tl_gemm { TL_GEMM_COMPOSITE, TL_GEMM_DOT };

struct tl_launch {
    /* Geometry. A PE is (cube, pe): its CUBE's number within the group and its number within the
     * CUBE. CUBEs of a group and PEs of a CUBE both use the reduction numbering (docs/kernels.md).
     */
    uint32_t group;                   /* which KV-head group */
    uint32_t group_cubes;             /* C */
    uint32_t cube;                    /* 0 .. C-1 */
    uint32_t pe;                      /* 0 .. pes-1 */
    uint32_t cube_columns, cube_rows; /* the group's grid */
    uint32_t pe_columns, pe_rows, pes;

    /* The attention problem: one KV head and its query heads. */
    enum tl_phase phase;
    uint64_t context;     /* S, tokens */
    uint32_t batch;       /* B, requests */
    uint32_t query_len;   /* T_q, positions per request */
    uint32_t group_heads; /* G, query heads per KV head */
    uint32_t head_dim;    /* d */

    /* Placement and form. */
    bool cube_sp;      /* the KV cache is split over CUBEs, else replicated */
    bool pe_sp;        /* the KV cache is split over the PEs of a CUBE, else one PE has it */
    bool tp_redundant; /* PEs without a request sweep for nothing */
    enum tl_form form;
    enum tl_gemm gemm;
    uint32_t tile; /* KV tokens per tile and per stored block */
    enum tl_reduce reduce_pe, reduce_cube;
    bool packed; /* (m, l, O) travel as one copy instead of three */

    /* Addresses within each PE's HBM share. Request r's regions start at base + r * stride. K holds
     * [d, tile] blocks, V [tile, d] blocks, a ragged last block padded in address. */
    uint64_t q_base, q_stride;
    uint64_t k_base, v_base, kv_stride;
    uint64_t o_base, o_stride;
};

#endif
