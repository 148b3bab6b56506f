#include "kernels/prefill/prefill_place.h"

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Where part `i` of `parts` equal ones of `whole` begins. */
static uint64_t part_start(uint64_t whole, uint32_t parts, uint32_t i)
{
    return (uint64_t)((unsigned __int128)whole * i / parts);
}

/* ---- keys ---- */

uint32_t key_pes(const struct tl_launch *launch)
{
    return launch->one_pe ? 1 : launch->pes;
}

static uint64_t block_start(const struct tl_launch *launch, uint32_t cube)
{
    return launch->cube_sp ? part_start(launch->context, launch->group_cubes, cube) : 0;
}

static uint64_t block_end(const struct tl_launch *launch, uint32_t cube)
{
    return launch->cube_sp ? block_start(launch, cube + 1) : launch->context;
}

struct key_tile key_tile(const struct tl_launch *launch, uint32_t cube, uint32_t pe, uint64_t slot)
{
    uint64_t end = block_end(launch, cube);
    uint64_t first =
        block_start(launch, cube) + (slot * key_pes(launch) + pe) * (uint64_t)launch->tile;
    if (pe >= key_pes(launch) || first >= end)
        return (struct key_tile){end, 0};
    return (struct key_tile){first, (uint32_t)least(launch->tile, end - first)};
}

uint64_t key_slots(const struct tl_launch *launch)
{
    uint64_t longest =
        launch->cube_sp ? ceil_div(launch->context, launch->group_cubes) : launch->context;
    return ceil_div(ceil_div(longest, launch->tile), key_pes(launch));
}

uint64_t key_tokens(const struct tl_launch *launch, uint32_t cube, uint32_t pe)
{
    uint64_t block = block_end(launch, cube) - block_start(launch, cube);
    uint64_t tiles = ceil_div(block, launch->tile), pes = key_pes(launch);
    if (pe >= pes || tiles <= pe)
        return 0;
    uint64_t mine = ceil_div(tiles - pe, pes);
    bool last = (tiles - 1) % pes == pe;
    return mine * launch->tile - (last ? tiles * launch->tile - block : 0);
}

/* ---- queries ---- */

uint32_t query_heads(const struct tl_launch *launch, uint32_t cube)
{
    uint32_t heads = launch->group_heads;
    return cube < heads ? (heads - cube - 1) / launch->group_cubes + 1 : 0;
}

/* A run of positions that one PE has. */
struct piece {
    uint64_t first, count;
};

static struct piece part_of(uint64_t whole, uint32_t parts, uint32_t i)
{
    uint64_t first = part_start(whole, parts, i);
    return (struct piece){first, part_start(whole, parts, i + 1) - first};
}

/* Whether every PE that works has all positions. */
static bool has_all(const struct tl_launch *launch)
{
    return launch->pe_sp || launch->one_pe;
}

static uint64_t stripe(const struct tl_launch *launch)
{
    return least(launch->query_block, ceil_div(launch->query_len, launch->pes));
}

/* The one or two runs of a PE, except in stripes. */
static void pieces_of(const struct tl_launch *launch, uint32_t pe, struct piece pieces[2])
{
    pieces[1] = (struct piece){0, 0};
    if (has_all(launch)) {
        pieces[0] = (struct piece){0, launch->one_pe && pe != 0 ? 0 : launch->query_len};
    } else if (launch->shards == TL_SHARDS_ZIGZAG) {
        pieces[0] = part_of(launch->query_len, 2 * launch->pes, pe);
        pieces[1] = part_of(launch->query_len, 2 * launch->pes, 2 * launch->pes - 1 - pe);
    } else {
        pieces[0] = part_of(launch->query_len, launch->pes, pe);
    }
}

static bool is_striped(const struct tl_launch *launch)
{
    return !has_all(launch) && launch->shards == TL_SHARDS_STRIPED;
}

uint64_t query_blocks(const struct tl_launch *launch, uint32_t pe)
{
    struct piece pieces[2];
    if (is_striped(launch)) {
        uint64_t stripes = ceil_div(launch->query_len, stripe(launch));
        return stripes <= pe ? 0 : ceil_div(stripes - pe, launch->pes);
    }
    pieces_of(launch, pe, pieces);
    return ceil_div(pieces[0].count, launch->query_block) +
           ceil_div(pieces[1].count, launch->query_block);
}

static struct query_block striped_block(const struct tl_launch *launch, uint32_t pe, uint64_t i)
{
    uint64_t positions = stripe(launch), first = (i * launch->pes + pe) * positions;
    return (struct query_block){first, i * positions,
                                (uint32_t)least(positions, launch->query_len - first)};
}

struct query_block query_block(const struct tl_launch *launch, uint32_t pe, uint64_t i)
{
    struct piece pieces[2];
    if (is_striped(launch))
        return striped_block(launch, pe, i);
    pieces_of(launch, pe, pieces);
    uint64_t in_first = ceil_div(pieces[0].count, launch->query_block);
    const struct piece *piece = &pieces[i >= in_first];
    uint64_t offset = (i >= in_first ? i - in_first : i) * launch->query_block;
    return (struct query_block){piece->first + offset,
                                offset + (i >= in_first ? pieces[0].count : 0),
                                (uint32_t)least(launch->query_block, piece->count - offset)};
}

uint64_t query_positions(const struct tl_launch *launch, uint32_t pe)
{
    uint64_t blocks = query_blocks(launch, pe);
    if (blocks == 0)
        return 0;
    struct query_block last = query_block(launch, pe, blocks - 1);
    return last.before + last.count;
}
