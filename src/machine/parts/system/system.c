/* What belongs to no part of a PE: the machine's name, its grids, the model that it runs, the
 * host's launch; and what the engine counts. */
#include "machine/machine.h"

/* clang-format off */
static const struct key_row keys[] = {
    {"name", KEY_TEXT, KEY_NOWHERE, "1", "63", "ahbm-sip",
     "the machine's name, in results and titles", "seed: AHBM SIP"},

    {"topology.sips_x", KEY_COUNT, KEY_AT(geometry.sips.columns), "1", "256", "1",
     "columns of SIPs in the system", "seed: one SIP"},
    {"topology.sips_y", KEY_COUNT, KEY_AT(geometry.sips.rows), "1", "256", "1",
     "rows of SIPs in the system", "seed: one SIP"},
    {"topology.cubes_x", KEY_COUNT, KEY_AT(geometry.cubes.columns), "1", "256", "4",
     "columns of CUBEs in a SIP", "seed: 4 x 4 CUBEs"},
    {"topology.cubes_y", KEY_COUNT, KEY_AT(geometry.cubes.rows), "1", "256", "4",
     "rows of CUBEs in a SIP", "seed: 4 x 4 CUBEs"},
    {"topology.pes_x", KEY_COUNT, KEY_AT(geometry.pes.columns), "1", "120", "4",
     "columns of PEs in a CUBE", "seed: 8 PEs in a CUBE"},
    {"topology.pes_y", KEY_COUNT, KEY_AT(geometry.pes.rows), "1", "120", "2",
     "rows of PEs in a CUBE", "seed: 8 PEs in a CUBE"},
    {"topology.pe_network", KEY_CHOICE, KEY_AT(geometry.pe_torus), "mesh", "torus", "mesh",
     "network of the PEs in a CUBE; a torus adds wrap links", "seed: a mesh of 2 x 4 PEs"},
    {"topology.cube_network", KEY_CHOICE, KEY_AT(geometry.cube_torus), "mesh", "torus", "mesh",
     "network of the CUBEs in a SIP; a torus adds wrap links",
     "assumption: no default kernel needs a wrap link"},
    {"topology.sip_network", KEY_CHOICE, KEY_AT(geometry.sip_torus), "mesh", "torus", "mesh",
     "network of the SIPs; a torus adds wrap links", "assumption: no default kernel needs a wrap link"},

    {"model.query_heads", KEY_COUNT, KEY_AT(model.query_heads), "1", "65536", "64",
     "query heads of the attention layer", "seed: Llama-3-70B"},
    {"model.kv_heads", KEY_COUNT, KEY_AT(model.kv_heads), "1", "65536", "8",
     "key/value heads of the attention layer; divides query_heads", "seed: Llama-3-70B"},
    {"model.head_dim", KEY_COUNT, KEY_AT(model.head_dim), "1", "8192", "128", "elements of one head",
     "seed: Llama-3-70B"},
    {"model.layers", KEY_COUNT, KEY_AT(model.layers), "1", "100000", "80",
     "layers of the model, for the memory of all of them", "seed: Llama-3-70B"},
};
/* clang-format on */

static uint64_t area(struct grid grid)
{
    return (uint64_t)grid.columns * grid.rows;
}

static bool check(const struct machine_params *params, struct key_clash *clash)
{
    const struct geometry *geometry = &params->geometry;
    if (area(geometry->sips) * area(geometry->cubes) > 65536)
        return KEY_CLASH(
            clash, "the system has more than 65536 CUBEs (sips_x * sips_y * cubes_x * cubes_y)",
            "topology.sips_x", "topology.sips_y", "topology.cubes_x", "topology.cubes_y");
    if (area(geometry->pes) > 120)
        return KEY_CLASH(clash, "a CUBE has more than 120 PEs (pes_x * pes_y)", "topology.pes_x",
                         "topology.pes_y");
    if (params->model.query_heads % params->model.kv_heads != 0)
        return KEY_CLASH(clash, "model.query_heads is not a multiple of model.kv_heads",
                         "model.query_heads", "model.kv_heads");
    return true;
}

static const char *engine_at(uint32_t at)
{
    return engine_kind_name((enum engine_kind)at);
}

/* clang-format off */
static const struct column columns[] = {
    {COLUMN_AT(COLUMN_CUBE, struct cube_result, group),
     "group", "1", "the CUBE group it works in; 18446744073709551615: left over"},
    {COLUMN_AT(COLUMN_CUBE, struct cube_result, events),
     "cube_events", "1", "events that the CUBE dispatched"},
    {COLUMN_AT(COLUMN_CUBE, struct cube_result, digest),
     "cube_digest", "1", "digest of the CUBE's events"},
    {COLUMN_ARRAY(COLUMN_PE, struct pe_result, busy_ps, ENGINE_KINDS, engine),
     "busy_ps", "ps", "time each engine was busy"},
};
/* clang-format on */

static void collect_cube(const struct cube *cube, struct cube_result *result)
{
    result->events = cube->lp->events;
    result->digest = cube->lp->digest;
}

const struct part system_part = {
    .name = "system",
    PART_ROWS(keys, keys),
    PART_ROWS(columns, columns),
    .check = check,
    .collect_cube = collect_cube,
};

/* clang-format off */
static const struct key_row launch_keys[] = {
    {"launch.host_latency_ns", KEY_NS, KEY_AT(launch.host_ps), "0", "1000000000", "2000",
     "host launch latency, reported apart from the kernel's, in ns",
     "assumption: a runtime's launch"},
};
/* clang-format on */

const struct part launch_part = {.name = "launch", PART_ROWS(keys, launch_keys)};
