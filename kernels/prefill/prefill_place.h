/* Which PE holds which keys, queries and outputs in a prefill: pure arithmetic.
 *
 * Keys: the CUBE's part of the context (all of it when the cache is replicated) in tiles of
 * launch->tile consecutive tokens, dealt to the PEs of the CUBE in turn.
 * Queries: CUBE c has the heads h with h mod C = c, at all T_q positions. Either every PE of it has
 * all of them (keys split over PEs, or one PE), or they are dealt to the PEs:
 *   contiguous  PE p has positions [p T / P, (p + 1) T / P)
 *   striped     stripes of a query block's positions, in turn
 *   zigzag      of 2 P equal pieces PE p has numbers p and 2 P - 1 - p
 *
 * Example, 16 positions on 4 PEs: zigzag cuts 8 pieces of 2, and PE 1 has pieces 1 and 6, positions
 * 2, 3, 12 and 13; contiguous would give it 4 to 7. A causal mask makes late positions meet more
 * keys; with zigzag all PEs have about equally many to meet.
 *
 * A query block is up to launch->query_block consecutive positions, for all heads of the CUBE.
 * Query position i of the launch is token (context - T_q + i). */
#ifndef AHBM_KERNELS_PREFILL_PLACE_H
#define AHBM_KERNELS_PREFILL_PLACE_H

#include <ahbm/launch.h>

/* Consecutive tokens. */
struct key_tile {
    uint64_t first;
    uint32_t width; /* 0: there is none */
};

struct query_block {
    uint64_t first;  /* position of the launch */
    uint64_t before; /* positions in the PE's blocks before it */
    uint32_t count;  /* positions */
};

/* PEs of a CUBE over which its keys are dealt. */
uint32_t key_pes(const struct tl_launch *launch);

/* Tile `slot` of PE (cube, pe), and how many of them the fullest PE of all has. */
struct key_tile key_tile(const struct tl_launch *launch, uint32_t cube, uint32_t pe, uint64_t slot);
uint64_t key_slots(const struct tl_launch *launch);

/* Tokens in the share of PE (cube, pe). */
uint64_t key_tokens(const struct tl_launch *launch, uint32_t cube, uint32_t pe);

/* Query heads of CUBE `cube`; its i-th one is i * C + cube. */
uint32_t query_heads(const struct tl_launch *launch, uint32_t cube);

/* Blocks of PE `pe`; the i-th one. */
uint64_t query_blocks(const struct tl_launch *launch, uint32_t pe);
struct query_block query_block(const struct tl_launch *launch, uint32_t pe, uint64_t i);

/* Positions of PE `pe`. */
uint64_t query_positions(const struct tl_launch *launch, uint32_t pe);

#endif
