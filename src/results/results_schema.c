#include "results/results_schema.h"

#include <stddef.h>

#include "machine/part.h"

#define COLUMN(source, structure, field, kind, name, units, description)                           \
    {                                                                                              \
        name, units, description, source, {kind, 0, 0, NULL}, offsetof(structure, field), 1, NULL, \
            NULL                                                                                   \
    }
#define PE_FOOTPRINT(field, name, description)                                                     \
    COLUMN(FROM_PE_FOOTPRINT, struct footprint, field, HDF5_U64, name, "bytes", description)
#define CUBE_FOOTPRINT(field, kind, name, units, description)                                      \
    COLUMN(FROM_CUBE_FOOTPRINT, struct cube_footprint, field, kind, name, units, description)

/* clang-format off */
static const struct results_column own_columns[] = {
    {"group_latency_ps", "ps", "kernel latency of each CUBE group; 0: the kernel has fewer", FROM_GROUP,
     {HDF5_U64, 0, 0, NULL}, 0, 1, NULL, NULL},

    PE_FOOTPRINT(kv_bytes, "kv_bytes_pe", "KV cache in the PE's share of HBM, one layer"),
    PE_FOOTPRINT(q_bytes, "q_bytes_pe", "Q in the PE's share of HBM, one layer"),
    PE_FOOTPRINT(o_bytes, "o_bytes_pe", "O in the PE's share of HBM, one layer"),
    CUBE_FOOTPRINT(kv_bytes, HDF5_U64, "kv_bytes", "bytes", "KV cache in the CUBE's HBM, one layer"),
    CUBE_FOOTPRINT(kv_bytes_all_layers, HDF5_U64, "kv_bytes_all_layers", "bytes",
                   "KV cache in the CUBE's HBM, all layers; 18446744073709551615: that or more"),
    CUBE_FOOTPRINT(fits, HDF5_U8, "fits", "1",
                   "1: the KV cache of all layers fits into the CUBE's HBM; 0: it does not"),
};
/* clang-format on */

/* A part's column, as the file sees it. */
static struct results_column of_part(const struct column *column)
{
    static const enum column_source sources[] = {
        [COLUMN_PE] = FROM_PE, [COLUMN_PE_SUMMARY] = FROM_PE_SUMMARY, [COLUMN_CUBE] = FROM_CUBE};
    return (struct results_column){
        .name = column->name,
        .units = column->units,
        .description = column->description,
        .source = sources[column->of],
        .type = {HDF5_U64, 0, 0, NULL},
        .offset = column->offset,
        .width = column->width,
        .last_axis = column->last_axis,
        .axis = column->axis,
    };
}

static struct results_column of_scalar(const struct results_scalar *scalar)
{
    static const enum hdf5_kind kinds[] = {[RESULTS_U8] = HDF5_U8,
                                           [RESULTS_U32] = HDF5_U32,
                                           [RESULTS_U64] = HDF5_U64,
                                           [RESULTS_F64] = HDF5_F64,
                                           [RESULTS_TEXT] = HDF5_TEXT};
    return (struct results_column){
        .name = scalar->name,
        .units = scalar->units,
        .description = scalar->description,
        .source = FROM_POINT,
        .type = {kinds[scalar->type], 0, 0, NULL},
        .offset = (uint32_t)scalar->offset,
        .width = 1,
    };
}

enum { OWN_COLUMNS = sizeof own_columns / sizeof own_columns[0] };

bool results_column_at(const struct results_layout *layout, size_t index,
                       struct results_column *column)
{
    if (index < layout->scalars_count) {
        *column = of_scalar(&layout->scalars[index]);
        return true;
    }
    index -= layout->scalars_count;
    if (index < OWN_COLUMNS) {
        *column = own_columns[index];
        return true;
    }
    const struct column *part = machine_column(index - OWN_COLUMNS);
    if (part != NULL)
        *column = of_part(part);
    return part != NULL;
}

bool results_column_wanted(const struct results_column *column, const struct results_layout *layout)
{
    return column->source != FROM_PE_SUMMARY || layout->summary;
}

uint32_t results_column_bytes(const struct results_column *column)
{
    switch (column->type.kind) {
    case HDF5_U8:
        return 1;
    case HDF5_U32:
        return 4;
    case HDF5_U64:
    case HDF5_F64:
        return 8;
    default:
        return 0;
    }
}

/* Over what a source's structures run, after the point. */
static uint32_t add_axes(enum column_source source, const struct results_layout *layout,
                         struct results_axis *axes)
{
    axes[0] = (struct results_axis){"cube", layout->cubes, NULL, "CUBE, counted over all SIPs"};
    axes[1] = (struct results_axis){"pe", layout->pes, NULL, "PE, counted within its CUBE"};
    switch (source) {
    case FROM_POINT:
        return 0;
    case FROM_GROUP: /* not `group`, which is a column */
        axes[0] = (struct results_axis){"cube_group", layout->groups, NULL, "CUBE group"};
        return 1;
    case FROM_PE:
    case FROM_PE_SUMMARY:
    case FROM_PE_FOOTPRINT:
        return 2;
    default:
        return 1;
    }
}

uint32_t results_column_axes(const struct results_column *column,
                             const struct results_layout *layout,
                             struct results_axis axes[HDF5_RANK_MAX])
{
    axes[0] = (struct results_axis){"point", 0, NULL, "point of the study"};
    uint32_t rank = 1 + add_axes(column->source, layout, axes + 1);
    if (column->last_axis != NULL)
        axes[rank++] = (struct results_axis){column->axis, column->width, column->last_axis,
                                             "the names along the axis"};
    return rank;
}

void results_list(FILE *out)
{
    static const struct results_layout layout = {.cubes = 1, .pes = 1, .groups = 1};
    struct results_column column;
    for (size_t at = 0; results_column_at(&layout, at, &column); at++) {
        struct results_axis axes[HDF5_RANK_MAX];
        uint32_t rank = results_column_axes(&column, &layout, axes);
        fprintf(out, "| `%s` | %s | ", column.name, column.type.kind == HDF5_U8 ? "u8" : "u64");
        for (uint32_t i = 0; i < rank; i++)
            fprintf(out, "%s%s", i > 0 ? ", " : "", axes[i].name);
        fprintf(out, " | %s | - | file | %s |\n", column.units, column.description);
    }
}
