#include "results/results_schema.h"

#include <stddef.h>

#include "machine/part.h"

#define COLUMN(source, structure, field, kind, name, units, description)                           \
    {                                                                                              \
        name, units, description, source, {kind, 0, 0, NULL}, offsetof(structure, field), 1, NULL, \
            NULL                                                                                   \
    }
#define TEXT(field, description)                                                                   \
    {                                                                                              \
#field, "1", description, FROM_POINT,                                                      \
            {HDF5_TEXT, 0, 0, NULL }, offsetof(struct results_point, field), 1, NULL, NULL         \
    }
#define POINT(field, kind, name, units, description)                                               \
    COLUMN(FROM_POINT, struct results_point, field, kind, name, units, description)
#define PE_FOOTPRINT(field, name, description)                                                     \
    COLUMN(FROM_PE_FOOTPRINT, struct footprint, field, HDF5_U64, name, "bytes", description)
#define CUBE_FOOTPRINT(field, kind, name, units, description)                                      \
    COLUMN(FROM_CUBE_FOOTPRINT, struct cube_footprint, field, kind, name, units, description)

/* clang-format off */
static const struct results_column own_columns[] = {
    POINT(case_number, HDF5_U32, "case", "1", "placement case 1 to 4; 0: none"),
    POINT(context, HDF5_U64, "context", "tokens", "context length S"),
    POINT(batch, HDF5_U32, "batch", "requests", "requests of the launch"),
    POINT(query_len, HDF5_U32, "query_len", "tokens", "query positions per request, T_q"),
    POINT(cubes_per_group, HDF5_U32, "cubes_per_group", "CUBEs", "CUBEs that own one KV head, C"),
    POINT(tile, HDF5_U32, "tile", "tokens", "KV tokens per kernel tile"),
    POINT(query_block, HDF5_U32, "query_block", "tokens",
          "query positions that a prefill works on at a time; 0 in decode"),
    POINT(ring_depth, HDF5_U32, "ring_depth", "1",
          "buffers for the arriving KV blocks of a prefill; 0 in decode"),
    TEXT(phase, "decode or prefill"),
    TEXT(kernel, "name or file of the kernel"),
    TEXT(reduce_pe, "shape of the reduction over the PEs of a CUBE"),
    TEXT(reduce_cube, "shape of the reduction over the CUBEs of a group"),
    TEXT(mlo, "how (m, l, O) travels: separate copies or one packed"),
    TEXT(gemm, "GEMMs as composite or as blocking dot"),
    TEXT(form, "form of the kernel"),
    TEXT(tp_idle, "what PEs without a query do"),
    TEXT(shards, "how a prefill deals query positions to PEs; - in decode"),
    POINT(latency_ps, HDF5_U64, "latency_ps", "ps", "kernel latency of the slowest group"),
    POINT(launch_ps, HDF5_U64, "launch_ps", "ps", "host launch latency, not part of latency_ps"),
    POINT(o_gather_bytes, HDF5_U64, "o_gather_bytes", "bytes",
          "moved to bring the O of group 0 to the PE that holds most of it (o_bytes_pe)"),
    POINT(digest, HDF5_U64, "digest", "1", "digest of all events, over CUBEs in order"),
    POINT(verify_state, HDF5_U8, "verify_state", "1",
          "the output against attention in float64: 1 within tolerance, 2 not; 0: not verified"),
    POINT(verify_rms_relative, HDF5_F64, "verify_rms_relative", "1",
          "RMS error of the output over the RMS of the reference; inf: an output is no number; -1: "
          "not verified; may differ in the last bits between types of processor"),
    POINT(verify_max_abs, HDF5_F64, "verify_max_abs", "1",
          "largest absolute error of the output; inf: an output is no number; -1: not verified; may "
          "differ in the last bits between types of processor"),
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

enum { OWN_COLUMNS = sizeof own_columns / sizeof own_columns[0] };

bool results_column_at(size_t index, struct results_column *column)
{
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

struct cube_footprint cube_footprint_of(const struct footprint *footprints,
                                        const struct results_layout *layout)
{
    struct cube_footprint sum = {0, 0, 0};
    bool exact = true;
    for (uint32_t pe = 0; pe < layout->pes; pe++)
        exact &= !__builtin_add_overflow(sum.kv_bytes, footprints[pe].kv_bytes, &sum.kv_bytes);
    if (!exact)
        sum.kv_bytes = UINT64_MAX;
    exact &= !__builtin_mul_overflow(sum.kv_bytes, layout->model_layers, &sum.kv_bytes_all_layers);
    if (!exact)
        sum.kv_bytes_all_layers = UINT64_MAX;
    sum.fits = exact && sum.kv_bytes_all_layers <= layout->hbm_capacity_bytes;
    return sum;
}
