#include "values/region.h"

#include <assert.h>
#include <string.h>

#include "support/memory.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t region_bytes(const struct value_region *region, uint32_t dim)
{
    uint64_t rows = region->rows;
    if (region->layout == LAYOUT_TRANSPOSED)
        rows = (rows + region->block - 1) / region->block * region->block;
    return rows * dim * VALUE_BYTES;
}

struct value_row region_row(const struct value_region *region, uint64_t index)
{
    return (struct value_row){
        region->request,
        region->head + (uint32_t)(index / region->rows_per_head) * region->head_step,
        region->token + index % region->rows_per_head * region->token_step,
    };
}

/* Rows [first, first + count), one head after the other. */
static bool fetch(const struct value_region *region, struct value_source *source, uint64_t first,
                  uint64_t count, uint16_t *out, struct error *err)
{
    while (count > 0) {
        uint64_t run = least(count, region->rows_per_head - first % region->rows_per_head);
        if (!value_source_rows(source, region->tensor, region_row(region, first),
                               region->token_step, run, out, err))
            return false;
        first += run;
        count -= run;
        out += run * source->dim;
    }
    return true;
}

static bool read_rows(const struct value_region *region, struct value_source *source,
                      uint64_t offset, uint64_t bytes, char *out, struct error *err)
{
    uint64_t row_bytes = (uint64_t)source->dim * VALUE_BYTES;
    uint64_t first = offset / row_bytes, last = (offset + bytes - 1) / row_bytes;
    uint16_t *rows = memory_new(last - first + 1, row_bytes);
    bool good = fetch(region, source, first, last - first + 1, rows, err);
    if (good)
        memcpy(out, (const char *)rows + (offset - first * row_bytes), bytes);
    memory_free(rows);
    return good;
}

/* Elements [first, first + count) of a block [dim, width] whose rows [width][dim] are given. */
static void transpose(const uint16_t *rows, uint32_t dim, uint64_t width, uint64_t first,
                      uint64_t count, char *out)
{
    uint64_t k = first / width, column = first % width;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(out + i * VALUE_BYTES, &rows[column * dim + k], VALUE_BYTES);
        if (++column == width) {
            column = 0;
            k++;
        }
    }
}

/* Elements [first, first + count) of block number `block`. */
static bool read_block(const struct value_region *region, struct value_source *source,
                       uint64_t block, uint64_t first, uint64_t count, char *out, struct error *err)
{
    uint64_t width = least(region->block, region->rows - block * region->block);
    uint64_t elements = width * source->dim;
    if (first >= elements)
        return true;
    uint16_t *rows = memory_new(elements, VALUE_BYTES);
    bool good = fetch(region, source, block * region->block, width, rows, err);
    if (good)
        transpose(rows, source->dim, width, first, least(count, elements - first), out);
    memory_free(rows);
    return good;
}

static bool read_transposed(const struct value_region *region, struct value_source *source,
                            uint64_t offset, uint64_t bytes, char *out, struct error *err)
{
    uint64_t size = (uint64_t)region->block * source->dim;
    uint64_t first = offset / VALUE_BYTES, left = bytes / VALUE_BYTES;
    while (left > 0) {
        uint64_t run = least(left, size - first % size);
        if (!read_block(region, source, first / size, first % size, run, out, err))
            return false;
        first += run;
        left -= run;
        out += run * VALUE_BYTES;
    }
    return true;
}

bool region_read(const struct value_region *region, struct value_source *source, uint64_t offset,
                 uint64_t bytes, char *out, struct error *err)
{
    assert(offset % VALUE_BYTES == 0 && bytes % VALUE_BYTES == 0);
    assert(offset + bytes <= region_bytes(region, source->dim));
    if (bytes == 0)
        return true;
    return region->layout == LAYOUT_ROWS ? read_rows(region, source, offset, bytes, out, err)
                                         : read_transposed(region, source, offset, bytes, out, err);
}
