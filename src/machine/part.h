/* A part of the machine describes itself: what a machine file may say of it, what it measured, how
 * it is made and what it promises. `cube.c` and the reader of machine files go through the list of
 * parts and know none by name; a new part is a folder below parts/ and a line in `parts.c`. */
#ifndef AHBM_MACHINE_PART_H
#define AHBM_MACHINE_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/column.h"
#include "machine/key.h"

struct cube;
struct pe;
struct machine_params;
struct pe_result;
struct cube_result;

/* A server of a part, as the conformance test sees it (tests/unit/machine/test_parts.c): whatever
 * was accepted before, least() is never later than what serve() then says. */
struct part_server {
    const char *name;
    /* Takes `work` that arrives at `now`; returns when it is done. */
    uint64_t (*serve)(struct cube *cube, struct pe *pe, uint64_t now, uint64_t work);
    /* A time before which `work` more, none of it accepted before `now`, is not done. */
    uint64_t (*least)(const struct cube *cube, const struct pe *pe, uint64_t now, uint64_t work);
};

struct part {
    const char *name;
    const struct key_row *keys;
    uint32_t keys_count;
    const struct column *columns;
    uint32_t columns_count;
    const struct part_server *servers;
    uint32_t servers_count;
    /* What follows from the parameters, once per CUBE, before init(). All functions may be NULL. */
    void (*prepare)(struct cube *cube);
    void (*init)(struct cube *cube, uint32_t pe);
    void (*fini)(struct pe *pe);
    /* Bytes that init() takes for a PE, on the heap. */
    uint64_t (*memory)(const struct machine_params *params);
    /* Whether the keys go together; otherwise false with the clash. */
    bool (*check)(const struct machine_params *params, struct key_clash *clash);
    /* After the run: fills the part's own columns. */
    void (*collect_pe)(const struct cube *cube, const struct pe *pe, struct pe_result *result);
    void (*collect_cube)(const struct cube *cube, struct cube_result *result);
};

/* A table and its length: PART_ROWS(keys, rows). */
#define PART_ROWS(field, rows) .field = (rows), .field##_count = sizeof(rows) / sizeof *(rows)

/* What a block of the heap takes. */
static inline uint64_t part_block(uint64_t count, uint64_t bytes)
{
    enum { HEAP_BYTES = 16 };
    return count * bytes + HEAP_BYTES;
}

/* In the order in which machine files and results name them; ended by NULL. */
const struct part *const *machine_parts(void);

/* Row `index` of all parts' keys, one after the other; NULL past the end. */
const struct key_row *machine_key(size_t index);

/* Column `index` of all parts, likewise. */
const struct column *machine_column(size_t index);

/* Whether the keys of all parts go together. */
bool machine_check(const struct machine_params *params, struct key_clash *clash);

#endif
