/* What a part measured: it keeps a table of these rows, and the result file, its reader's guide and
 * its checks follow from it. All values are uint64_t. */
#ifndef AHBM_MACHINE_COLUMN_H
#define AHBM_MACHINE_COLUMN_H

#include <stddef.h>
#include <stdint.h>

enum column_of {
    COLUMN_PE,         /* in struct pe_result: [point, CUBE, PE] */
    COLUMN_PE_SUMMARY, /* the same, sums of the trace: left out with `--trace none` */
    COLUMN_CUBE,       /* in struct cube_result: [point, CUBE] */
};

struct column {
    enum column_of of;
    uint32_t offset;                       /* of the first value in that structure */
    uint32_t width;                        /* values there; more than 1: a last axis */
    const char *(*last_axis)(uint32_t at); /* its names; NULL: no such axis */
    const char *axis;                      /* what the last axis is called */
    const char *name, *units, *description;
};

/* A value, and an array whose last axis, `axis`, is named by the function `axis`_at(). */
#define COLUMN_AT(of, structure, field) of, (uint32_t)offsetof(structure, field), 1, NULL, NULL
#define COLUMN_ARRAY(of, structure, field, width, axis)                                            \
    of, (uint32_t)offsetof(structure, field), width, axis##_at, #axis

#endif
