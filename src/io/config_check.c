/* What no single key can tell: checks of keys against each other, and derived parameters. */
#include <string.h>

#include "io/config_internal.h"

/* How likely the user meant this key: one of --set before one of a file before one that was left
 * alone; among these a value of the user's own before one that equals the default. */
static int guilt(const struct config *config, size_t index)
{
    const struct config_entry *entry = &config->entries[index];
    int origin = entry->label == NULL ? 0 : entry->line > 0 ? 1 : 2;
    return 2 * origin + (strcmp(entry->text, config_schema_row(index)->initial) != 0);
}

/* Blames the first of the most guilty `keys`. */
static bool clash(const struct config *config, struct error *err, const char *const *keys,
                  const char *message)
{
    size_t index, blamed = 0;
    int most = -1;
    for (const char *const *key = keys; *key != NULL; key++) {
        if (!config_schema_find(*key, &index))
            error_bug("a check names the unknown key %s", *key);
        if (guilt(config, index) > most) {
            most = guilt(config, index);
            blamed = index;
        }
    }
    const struct config_entry *entry = &config->entries[blamed];
    struct config_place place = {entry->label, entry->line};
    return config_fail(err, place, config_schema_row(blamed)->key, "'%s': %s", entry->text,
                       message);
}

#define CLASH(config, err, message, ...)                                                           \
    clash(config, err, (const char *const[]){__VA_ARGS__, NULL}, message)

static uint64_t area(struct grid grid)
{
    return (uint64_t)grid.columns * grid.rows;
}

static bool check_topology(const struct config *config, struct error *err)
{
    const struct geometry *geometry = &config->params.geometry;
    if (area(geometry->sips) * area(geometry->cubes) > 65536)
        return CLASH(config, err,
                     "the system has more than 65536 CUBEs (sips_x * sips_y * cubes_x "
                     "* cubes_y)",
                     "topology.sips_x", "topology.sips_y", "topology.cubes_x", "topology.cubes_y");
    if (area(geometry->pes) > 120)
        return CLASH(config, err, "a CUBE has more than 120 PEs (pes_x * pes_y)", "topology.pes_x",
                     "topology.pes_y");
    if (config->params.hbm.pseudo_channels % area(geometry->pes) != 0)
        return CLASH(config, err,
                     "hbm.pseudo_channels is not a multiple of the PEs in a CUBE (pes_x * pes_y)",
                     "hbm.pseudo_channels", "topology.pes_x", "topology.pes_y");
    return true;
}

static bool check_model(const struct config *config, struct error *err)
{
    if (config->params.model.query_heads % config->params.model.kv_heads != 0)
        return CLASH(config, err, "model.query_heads is not a multiple of model.kv_heads",
                     "model.query_heads", "model.kv_heads");
    return true;
}

static bool check_memory(const struct config *config, struct error *err)
{
    const struct hw_params *hw = &config->params;
    if (hw->hbm.refresh_busy_ps >= hw->hbm.refresh_interval_ps)
        return CLASH(config, err, "hbm.refresh_busy_ns is not below hbm.refresh_interval_ns",
                     "hbm.refresh_busy_ns", "hbm.refresh_interval_ns");
    if (hw->ipcq.slot_bytes % 4 != 0)
        return CLASH(config, err, "a slot holds whole f32 elements: a multiple of 4 is expected",
                     "ipcq.slot_bytes");
    if (hw->ipcq.slot_bytes > hw->scratch.bytes)
        return CLASH(config, err, "ipcq.slot_bytes is above scratch.capacity_bytes",
                     "ipcq.slot_bytes", "scratch.capacity_bytes");
    if (hw->sched.pipeline_depth * hw->sched.tile_k * hw->sched.tile_n * 2 > hw->scratch.bytes)
        return CLASH(config, err,
                     "scratch.capacity_bytes does not hold pipeline_depth * tile_k * tile_n bf16",
                     "scheduler.pipeline_depth", "scheduler.tile_k", "scheduler.tile_n",
                     "scratch.capacity_bytes");
    return true;
}

bool config_finish(struct config *config, struct error *err)
{
    if (!check_topology(config, err) || !check_model(config, err) || !check_memory(config, err))
        return false;
    uint64_t *issue = config->params.cpu.issue_ps;
    issue[OP_RECV_ASYNC] = issue[OP_RECV];
    config->finished = true;
    return true;
}
