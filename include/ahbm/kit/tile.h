/* The two GEMMs of one KV tile, by composites that stream K and V from HBM or by blocking dots on
 * tiles loaded to scratch, behind one set of calls. */
#ifndef AHBM_KIT_TILE_H
#define AHBM_KIT_TILE_H

#include <ahbm/tl.h>

/* The query block of one request and the KV tokens that it meets on this PE. K and V lie in blocks
 * of launch->tile tokens: K [dim, tile], V [tile, dim], bf16; of a ragged last block only the valid
 * tokens are read. */
struct kit_tile_source {
    const struct tl_launch *launch;
    uint32_t pe;             /* whose they are */
    uint64_t k_addr, v_addr; /* kit_homes_kv() */
    uint64_t tokens;
    uint64_t context;       /* of the request */
    uint64_t first, stride; /* the tokens are first, first + stride, ... of it */
    struct tl_tensor q;     /* [rows, dim] bf16 in scratch */
};

/* Buffers for the tiles of a sweep. */
struct kit_tile_pair {
    struct kit_tile_source source;
    struct tl_tensor scores[2];   /* [rows, tile] f32, in turn */
    struct tl_tensor k_block[2];  /* dot: [dim, tile], in turn */
    struct tl_tensor v_block;     /* dot: [tile, dim] */
    const struct tile_gemm *gemm; /* how */
};

/* ceil(tokens / tile) */
uint64_t kit_tile_count(const struct kit_tile_source *source);

/* Tokens of tile `j`. */
uint32_t kit_tile_width(const struct kit_tile_source *source, uint64_t j);

/* K [dim, width] and V [width, dim] of tile `j`, in HBM. */
struct tl_tensor kit_tile_keys(struct tl *tl, const struct kit_tile_source *source, uint64_t j);
struct tl_tensor kit_tile_values(struct tl *tl, const struct kit_tile_source *source, uint64_t j);

/* Whether tile `j` has a token that is later than the first query position. */
bool kit_tile_needs_mask(const struct kit_tile_source *source, uint64_t j);

/* Adds the causal mask to the scores of tile `j` if it needs one. */
void kit_tile_mask(struct tl *tl, const struct kit_tile_source *source, uint64_t j,
                   struct tl_tensor scores);

/* The factor of the scores, 1 / sqrt(dim). */
float kit_tile_scale(const struct tl_launch *launch);

/* The first `rows` x `cols` elements of a buffer. */
struct tl_tensor kit_tile_part(struct tl *tl, struct tl_tensor buffer, uint32_t rows,
                               uint32_t cols);

/* Allocates the buffers for a sweep of source->tokens > 0 tokens in launch->gemm form. */
struct kit_tile_pair kit_tile_pair_new(struct tl *tl, const struct kit_tile_source *source);

/* In this order for each tile, except that keys(j + 1) may come between values(j) and scores(j):
 * keys() starts what the scores need, values() what the output needs, scores() returns
 * S = scale * q . K [rows, width], which the caller may overwrite, output() computes out = p . V.
 */
void kit_tile_start_keys(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j);
void kit_tile_start_values(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j);
struct tl_tensor kit_tile_scores(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j);
void kit_tile_output(struct tl *tl, const struct kit_tile_pair *pair, uint64_t j,
                     struct tl_tensor out, struct tl_tensor p);

#endif
