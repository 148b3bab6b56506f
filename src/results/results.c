#include "results/results.h"

#include "results/results_hdf5.h"
#include "results/results_internal.h"
#include "results/results_schema.h"
#include "support/memory.h"

enum { SCHEMA_VERSION = 2 };

/* Room for the file's own structures at the start, and for what is written at the end. */
enum { HEAD_BYTES = 64 << 10, TAIL_BYTES = 64 << 10 };

void results_start(void)
{
    hdf5_start();
}

static bool write_root(int64_t file, const struct results_layout *layout)
{
    return hdf5_attribute_u32(file, "schema_version", SCHEMA_VERSION) &&
           hdf5_attribute_text(file, "program", "ahbm-pdes") &&
           hdf5_attribute_text(file, "version", layout->version);
}

static bool write_config(int64_t file, const struct results_layout *layout)
{
    int64_t config = hdf5_group_new(file, "config");
    bool good = hdf5_attribute_u64(config, "seed", layout->seed) &&
                hdf5_attribute_u32(config, "cubes", layout->cubes) &&
                hdf5_attribute_u32(config, "pes", layout->pes) &&
                hdf5_attribute_u32(config, "groups", layout->groups) &&
                hdf5_attribute_u64(config, "hbm_capacity_bytes", layout->hbm_capacity_bytes) &&
                hdf5_attribute_u32(config, "model_layers", layout->model_layers);
    hdf5_group_close(config);
    return good;
}

static bool write_head(struct results *results, const struct results_layout *layout,
                       struct error *err)
{
    struct results_file *file = &results->file;
    if (!results_file_reserve(file, HEAD_BYTES, err))
        return false;
    results->points_group = hdf5_group_new(file->hdf5, "points");
    bool good = results->points_group >= 0 && write_root(file->hdf5, layout) &&
                write_config(file->hdf5, layout);
    return results_file_agree(file, good, err);
}

static void free_results(struct results *results, bool together)
{
    results_rows_fini(results);
    results_labels_fini(results);
    if (results->team.writes)
        results_file_drop(&results->file);
    results_team_dismiss(&results->team, together);
    memory_free(results);
}

static struct results *new_results(const struct comm *comm, const struct results_layout *layout)
{
    struct results *results = memory_new(1, sizeof *results);
    results->layout = *layout;
    results->layout.version = results->layout.config = NULL;
    results->trace_group = -1;
    results->output_group = results->output = -1;
    results_team_form(&results->team, comm, layout->first_cube, layout->local_cubes);
    results_rows_init(results);
    if (comm->rank == 0)
        results_labels_init(results, layout->config);
    return results;
}

struct results *results_open(const struct comm *comm, const char *path,
                             const struct results_layout *layout, struct error *err)
{
    struct results *results = new_results(comm, layout);
    if (results->team.writes &&
        results_file_create(&results->file, &results->team.writers, path, err))
        write_head(results, layout, err);
    if (comm_agree(comm, err))
        return results;
    free_results(results, false);
    return NULL;
}

bool results_add(struct results *results, const struct results_point *point, struct error *err)
{
    uint64_t number = results->written + results->waiting;
    if (point->trace != NULL && !results_trace_write(results, number, point->trace, err))
        return false;
    if (results->team.all.rank == 0)
        results_labels_add(results, point->scalars);
    return results_rows_add(results, point, err);
}

static bool write_run(int64_t file, const struct results_run *run)
{
    int64_t group = hdf5_group_new(file, "run");
    bool good = hdf5_attribute_u32(group, "ranks", run->ranks) &&
                hdf5_attribute_text(group, "transport", run->transport) &&
                hdf5_attribute_f64(group, "wall_s", run->wall_s) &&
                hdf5_attribute_u64(group, "events", run->events) &&
                hdf5_attribute_u64(group, "rounds", run->rounds) &&
                hdf5_attribute_u64(group, "messages", run->messages) &&
                hdf5_attribute_u64(group, "message_bytes", run->message_bytes) &&
                hdf5_attribute_u64(group, "peak_rss_bytes", run->peak_rss_bytes);
    hdf5_group_close(group);
    return good;
}

static bool finish(struct results *results, const struct results_run *run, struct error *err)
{
    struct results_file *file = &results->file;
    struct results_completion labels = {.write = results_labels_write, .context = results};
    if (results->team.all.rank == 0)
        labels.bytes = results_labels_bytes(results);
    return results_file_reserve(file, TAIL_BYTES, err) &&
           results_file_agree(file, write_run(file->hdf5, run), err) &&
           results_file_finish(file, &labels, err);
}

bool results_close(struct results *results, const struct results_run *run, struct error *err)
{
    bool good = results_rows_flush(results, err);
    if (good && results->team.writes)
        finish(results, run, err);
    good = good && comm_agree(&results->team.all, err);
    free_results(results, good);
    return good;
}

void results_abandon(struct results *results)
{
    free_results(results, false);
}
