/* The datasets of /points, from which the file and its buffers follow: the scalars that
 * whoever writes declares, the footprint, and what each part of the machine declares. Each is an
 * array [point, ...]; docs/output-format.md describes them to readers. */
#ifndef AHBM_RESULTS_SCHEMA_H
#define AHBM_RESULTS_SCHEMA_H

#include "results/results.h"
#include "results/results_hdf5.h"

/* Which structure of a point holds the value, and so over what the array runs. */
enum column_source {
    FROM_POINT,          /* the scalars: [point] */
    FROM_GROUP,          /* group_latency_ps: [point, group] */
    FROM_CUBE,           /* struct cube_result: [point, CUBE] */
    FROM_CUBE_FOOTPRINT, /* struct cube_footprint: [point, CUBE] */
    FROM_PE,             /* struct pe_result: [point, CUBE, PE] */
    FROM_PE_SUMMARY,     /* the same, sums of the trace: only with layout.summary */
    FROM_PE_FOOTPRINT,   /* struct footprint: [point, CUBE, PE] */
    COLUMN_SOURCES
};

struct results_column {
    const char *name;
    const char *units;
    const char *description;
    enum column_source source;
    struct hdf5_type type;
    uint32_t offset;                       /* of the first value in the source's structure */
    uint32_t width;                        /* values there; more than 1: a last axis */
    const char *(*last_axis)(uint32_t at); /* its names; NULL: no such axis */
    const char *axis;                      /* and what it is called */
};

/* Whether a file of this layout has the column. */
bool results_column_wanted(const struct results_column *column,
                           const struct results_layout *layout);

/* Column `index`: the layout's scalars, the footprint, then those of the machine's parts. False
 * past the end. */
bool results_column_at(const struct results_layout *layout, size_t index,
                       struct results_column *column);

/* Bytes of one value; 0 of a text, which is kept elsewhere (results_labels.c). */
uint32_t results_column_bytes(const struct results_column *column);

/* An axis and the coordinates of its scale: names, or numbers from 0. */
struct results_axis {
    const char *name;
    uint64_t length;
    const char *(*name_of)(uint32_t at); /* NULL: numbers */
    const char *description;
};

/* The axes of the column's array, the point's first, whose length is 0 here; returns how many. */
uint32_t results_column_axes(const struct results_column *column,
                             const struct results_layout *layout,
                             struct results_axis axes[HDF5_RANK_MAX]);

#endif
