#include "io/results_schema.h"

#include <stddef.h>

/* Text lengths, closing zero included; what is longer is cut. */
enum { WORD_BYTES = 32, NAME_BYTES = 256 };

static const char *engine_at(uint32_t at)
{
    return engine_kind_name((enum engine_kind)at);
}

static const char *op_at(uint32_t at)
{
    return op_name((enum op)at);
}

static const char *count_at(uint32_t at)
{
    return count_kind_name((enum count_kind)at);
}

static const char *direction_at(uint32_t at)
{
    static const char *const names[DIRECTIONS] = {"N", "S", "E", "W"};
    return names[at];
}

static const char *link_at(uint32_t at)
{
    static const char *const names[2 * DIRECTIONS] = {"cube.N", "cube.S", "cube.E", "cube.W",
                                                      "io.N",   "io.S",   "io.E",   "io.W"};
    return names[at];
}

#define COLUMN(source, structure, field, kind, name, units, description)                           \
    {                                                                                              \
        name, units, description, source, {kind, 0, 0, NULL}, offsetof(structure, field), 1, NULL  \
    }
#define TEXT(field, bytes, description)                                                            \
    {                                                                                              \
#field, "1", description, FROM_POINT,                                                      \
            {HDF5_TEXT, bytes, 0, NULL }, offsetof(struct results_point, field), 1, NULL           \
    }
#define ARRAY(source, structure, field, width, last_axis, name, units, description)                \
    {                                                                                              \
        name, units, description, source, {HDF5_U64, 0, 0, NULL}, offsetof(structure, field),      \
            width, last_axis                                                                       \
    }

#define POINT(field, kind, name, units, description)                                               \
    COLUMN(FROM_POINT, struct results_point, field, kind, name, units, description)
#define PE(field, name, units, description)                                                        \
    COLUMN(FROM_PE, struct pe_result, field, HDF5_U64, name, units, description)
#define PE_ARRAY(field, width, last_axis, name, units, description)                                \
    ARRAY(FROM_PE, struct pe_result, field, width, last_axis, name, units, description)
#define PE_SUMMARY(field, name, units, description)                                                \
    ARRAY(FROM_PE_SUMMARY, struct pe_result, field, PROG_OPS_RUN, op_at, name, units, description)
#define CUBE(field, name, units, description)                                                      \
    COLUMN(FROM_CUBE, struct cube_result, field, HDF5_U64, name, units, description)
#define LINKS(field, name, units, description)                                                     \
    ARRAY(FROM_CUBE, struct cube_result, field, 2 * DIRECTIONS, link_at, name, units, description)
#define PE_FOOTPRINT(field, name, description)                                                     \
    COLUMN(FROM_PE_FOOTPRINT, struct footprint, field, HDF5_U64, name, "bytes", description)
#define CUBE_FOOTPRINT(field, kind, name, units, description)                                      \
    COLUMN(FROM_CUBE_FOOTPRINT, struct cube_footprint, field, kind, name, units, description)

/* clang-format off */
static const struct results_column columns[] = {
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
    TEXT(phase, WORD_BYTES, "decode or prefill"),
    TEXT(kernel, NAME_BYTES, "name or file of the kernel"),
    TEXT(reduce_pe, WORD_BYTES, "shape of the reduction over the PEs of a CUBE"),
    TEXT(reduce_cube, WORD_BYTES, "shape of the reduction over the CUBEs of a group"),
    TEXT(mlo, WORD_BYTES, "how (m, l, O) travels: separate copies or one packed"),
    TEXT(gemm, WORD_BYTES, "GEMMs as composite or as blocking dot"),
    TEXT(form, WORD_BYTES, "form of the kernel"),
    TEXT(tp_idle, WORD_BYTES, "what PEs without a query do"),
    TEXT(shards, WORD_BYTES, "how a prefill deals query positions to PEs; - in decode"),
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
     {HDF5_U64, 0, 0, NULL}, 0, 1, NULL},

    PE_ARRAY(counts, COUNT_KINDS, count_at, "commands", "1",
             "commands counted by kind; kinds in the attribute last_axis"),
    PE_ARRAY(busy_ps, ENGINE_KINDS, engine_at, "busy_ps", "ps",
             "time each engine was busy; engines in the attribute last_axis"),
    PE(read_bytes, "read_bytes", "bytes", "read from HBM by the PE's DMA"),
    PE(write_bytes, "write_bytes", "bytes", "written to HBM by the PE's DMA"),
    PE(requests, "requests", "1", "HBM requests: sub-tile fetches and pieces of loads and stores"),
    PE(sent_bytes, "sent_bytes", "bytes", "sent over IPCQ"),
    PE(received_bytes, "received_bytes", "bytes", "received over IPCQ"),
    PE(fragments, "fragments", "1", "IPCQ slots filled at the receivers of what the PE sent"),
    PE(gemm_steps, "gemm_steps", "1", "steps of TILE_M x TILE_K x TILE_N of the MAC array"),
    PE(useful_macs, "useful_macs", "1", "multiply-accumulates asked for: M * K * N of each command"),
    PE(commands, "commands_taken", "1", "commands taken from the PE's program"),
    PE_SUMMARY(op_commands, "op_commands", "1",
               "commands by operation; operations in the attribute last_axis"),
    PE_SUMMARY(op_time_ps, "op_time_ps", "ps",
               "sum over commands from start to end; operations in the attribute last_axis"),
    PE_SUMMARY(op_wait_ps, "op_wait_ps", "ps",
               "sum over commands from issue to start; operations in the attribute last_axis"),
    PE(slots_high_water, "slots_high_water", "1", "most IPCQ slots filled at once in one queue"),
    PE(scratch_high_water_bytes, "scratch_high_water_bytes", "bytes", "most scratch in use at once"),
    PE(first_issue_ps, "first_issue_ps", "ps",
       "issue of the first command; 18446744073709551615: no command"),
    PE(last_store_ps, "last_store_ps", "ps", "end of the last store; 0: none"),
    PE(last_end_ps, "last_end_ps", "ps", "end of the last command"),
    PE(hbm_busy_ps, "hbm_busy_ps", "ps", "busy time of the busiest pseudo-channel of the PE's share"),
    PE(hbm_read_bytes, "hbm_read_bytes", "bytes", "read from the PE's share of HBM, by any PE"),
    PE(hbm_write_bytes, "hbm_write_bytes", "bytes", "written to the PE's share of HBM, by any PE"),
    PE_ARRAY(link_busy_ps, DIRECTIONS, direction_at, "pe_link_busy_ps", "ps",
             "busy time of the outgoing links of the PE mesh; directions in the attribute last_axis"),
    PE_ARRAY(link_bytes, DIRECTIONS, direction_at, "pe_link_bytes", "bytes",
             "carried by the outgoing links of the PE mesh; directions in the attribute last_axis"),

    CUBE(group, "group", "1", "the CUBE group it works in; 18446744073709551615: left over"),
    LINKS(link_busy_ps, "cube_link_busy_ps", "ps",
          "busy time of the outgoing links of the CUBE; links in the attribute last_axis"),
    LINKS(link_bytes, "cube_link_bytes", "bytes",
          "carried by the outgoing links of the CUBE; links in the attribute last_axis"),
    LINKS(link_packets, "cube_link_packets", "1",
          "packets on the outgoing links of the CUBE; links in the attribute last_axis"),
    LINKS(link_wait_max_ps, "cube_link_wait_max_ps", "ps",
          "longest wait of a packet for the link; links in the attribute last_axis"),
    CUBE(events, "cube_events", "1", "events that the CUBE dispatched"),
    CUBE(digest, "cube_digest", "1", "digest of the CUBE's events"),

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

const struct results_column *results_columns(uint32_t *count)
{
    *count = sizeof columns / sizeof columns[0];
    return columns;
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
        return column->type.bytes;
    }
}

uint32_t results_column_axes(const struct results_column *column,
                             const struct results_layout *layout, uint64_t axes[2])
{
    axes[0] = column->source == FROM_GROUP ? layout->groups : layout->cubes;
    axes[1] = layout->pes;
    switch (column->source) {
    case FROM_POINT:
        return 0;
    case FROM_PE:
    case FROM_PE_SUMMARY:
    case FROM_PE_FOOTPRINT:
        return 2;
    default:
        return 1;
    }
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
