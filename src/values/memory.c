#include "values/memory.h"

#include <assert.h>
#include <string.h>

#include "support/memory.h"

enum { PAGE_BYTES = 4096, UNWRITTEN = 0xff, UNWRITTEN_ELEMENT = 0xffff };
enum { FIRST_SCRATCH = 64 << 10, FIRST_PAGES = 16, ALIGNMENT = 64 };

struct value_page {
    uint64_t number; /* addr / PAGE_BYTES */
    char *bytes;     /* NULL: an empty place of the table */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- scratch ---- */

static void grow(struct value_scratch *scratch, uint64_t end)
{
    uint64_t size = scratch->size ? scratch->size : FIRST_SCRATCH;
    while (size < end)
        size *= 2;
    size = most(least(size, scratch->limit), end);
    char *bytes = memory_new_aligned(size, 1, ALIGNMENT);
    if (scratch->size > 0)
        memcpy(bytes, scratch->bytes, scratch->size);
    memset(bytes + scratch->size, UNWRITTEN, size - scratch->size);
    memory_free(scratch->bytes);
    scratch->bytes = bytes;
    scratch->size = size;
}

char *value_scratch_at(struct value_scratch *scratch, uint64_t addr, uint64_t bytes)
{
    assert(addr + bytes <= scratch->limit);
    if (addr + bytes > scratch->size)
        grow(scratch, addr + bytes);
    return scratch->bytes + addr;
}

uint64_t value_scratch_memory(uint64_t used)
{
    uint64_t size = FIRST_SCRATCH;
    while (size < used)
        size *= 2;
    return used > 0 ? size : 0;
}

uint64_t value_share_memory(uint64_t written)
{
    uint64_t pages = (written + PAGE_BYTES - 1) / PAGE_BYTES;
    return pages * (PAGE_BYTES + 4 * sizeof(struct value_page));
}

void value_scratch_fini(struct value_scratch *scratch)
{
    memory_free(scratch->bytes);
}

/* ---- inputs ---- */

void value_share_map(struct value_share *share, const struct value_region *region)
{
    bool output = region->tensor == VALUE_O;
    struct value_region **list = output ? &share->outputs : &share->inputs;
    uint32_t *count = output ? &share->outputs_count : &share->inputs_count;
    if ((*count & (*count - 1)) == 0)
        *list = memory_resize(*list, *count ? 2 * (size_t)*count : 1, sizeof **list);
    (*list)[(*count)++] = *region;
}

/* As the memory was before anything was written. */
static bool read_inputs(struct value_share *share, uint64_t addr, uint64_t bytes, char *out,
                        struct error *err)
{
    memset(out, UNWRITTEN, bytes);
    for (uint32_t i = 0; i < share->inputs_count; i++) {
        const struct value_region *region = &share->inputs[i];
        uint64_t first = most(addr, region->addr);
        uint64_t end = least(addr + bytes, region->addr + region_bytes(region, share->source->dim));
        if (first < end && !region_read(region, share->source, first - region->addr, end - first,
                                        out + (first - addr), err))
            return false;
    }
    return true;
}

/* ---- pages: what was written ---- */

void value_share_fini(struct value_share *share)
{
    for (uint64_t i = 0; i < share->pages_room; i++)
        memory_free(share->pages[i].bytes);
    memory_free(share->pages);
    memory_free(share->inputs);
    memory_free(share->outputs);
}

/* The page, or the empty place where it belongs. The table is never full. */
static struct value_page *find(const struct value_share *share, uint64_t number)
{
    uint64_t mask = share->pages_room - 1;
    uint64_t at = (number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while (share->pages[at].bytes != NULL && share->pages[at].number != number)
        at = (at + 1) & mask;
    return &share->pages[at];
}

static void make_room(struct value_share *share)
{
    const struct value_share old = *share;
    if (2 * (share->pages_count + 1) <= share->pages_room)
        return;
    share->pages_room = old.pages_room ? 2 * old.pages_room : FIRST_PAGES;
    share->pages = memory_new(share->pages_room, sizeof *share->pages);
    for (uint64_t i = 0; i < old.pages_room; i++)
        if (old.pages[i].bytes != NULL)
            *find(share, old.pages[i].number) = old.pages[i];
    memory_free(old.pages);
}

/* The page, made with what it held if it is new; NULL with `err`. */
static char *page_of(struct value_share *share, uint64_t number, struct error *err)
{
    make_room(share);
    struct value_page *page = find(share, number);
    if (page->bytes != NULL)
        return page->bytes;
    char *bytes = memory_new(PAGE_BYTES, 1);
    if (!read_inputs(share, number * PAGE_BYTES, PAGE_BYTES, bytes, err)) {
        memory_free(bytes);
        return NULL;
    }
    *page = (struct value_page){number, bytes};
    share->pages_count++;
    return bytes;
}

/* Puts what was written over `out`. */
static void read_pages(const struct value_share *share, uint64_t addr, uint64_t bytes, char *out)
{
    if (share->pages_count == 0)
        return;
    for (uint64_t number = addr / PAGE_BYTES; number * PAGE_BYTES < addr + bytes; number++) {
        const struct value_page *page = find(share, number);
        uint64_t first = most(addr, number * PAGE_BYTES);
        uint64_t end = least(addr + bytes, (number + 1) * PAGE_BYTES);
        if (page->bytes != NULL)
            memcpy(out + (first - addr), page->bytes + (first - number * PAGE_BYTES), end - first);
    }
}

bool value_share_read(struct value_share *share, uint64_t addr, uint64_t bytes, char *out,
                      struct error *err)
{
    if (!read_inputs(share, addr, bytes, out, err))
        return false;
    read_pages(share, addr, bytes, out);
    return true;
}

bool value_share_write(struct value_share *share, uint64_t addr, uint64_t bytes, const char *data,
                       struct error *err)
{
    for (uint64_t number = addr / PAGE_BYTES; number * PAGE_BYTES < addr + bytes; number++) {
        uint64_t first = most(addr, number * PAGE_BYTES);
        uint64_t end = least(addr + bytes, (number + 1) * PAGE_BYTES);
        char *page = page_of(share, number, err);
        if (page == NULL)
            return false;
        memcpy(page + (first - number * PAGE_BYTES), data + (first - addr), end - first);
    }
    return true;
}

bool value_share_output(const struct value_share *share, const struct value_region *region,
                        uint64_t index, uint16_t *out)
{
    uint32_t dim = share->source->dim;
    uint64_t bytes = (uint64_t)dim * VALUE_BYTES;
    memset(out, UNWRITTEN, bytes);
    read_pages(share, region->addr + index * bytes, bytes, (char *)out);
    for (uint32_t i = 0; i < dim; i++)
        if (out[i] != UNWRITTEN_ELEMENT)
            return true;
    return false;
}
