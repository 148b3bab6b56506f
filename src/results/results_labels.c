/* What lets a reader find its way by names: texts, and the coordinates of all axes (HDF5's
 * dimension scales). Texts have variable lengths, which parallel HDF5 does not write: rank 0 keeps
 * them until all numbers are in the file and adds them alone. */
#include <stdio.h>
#include <string.h>

#include "results/results_hdf5.h"
#include "results/results_internal.h"
#include "support/memory.h"
#include "support/text.h"

/* What a dataset takes beside its values: header, attributes, a block of texts; what a text takes
 * beside its bytes. */
enum { DATASET_BYTES = 12 << 10, TEXT_BYTES = 48 };
enum { AXES_MAX = 16 };

/* The texts of a point are cut at so many bytes. */
enum { NAME_BYTES = 1024 };

void results_labels_init(struct results *results, const char *config)
{
    struct results_labels *labels = &results->labels;
    struct results_column column;
    labels->config = memory_copy_text(config);
    for (size_t i = 0; results_column_at(&results->layout, i, &column); i++) {
        if (column.type.kind != HDF5_TEXT)
            continue;
        labels->texts = memory_resize(labels->texts, labels->columns + 1, sizeof *labels->texts);
        labels->texts[labels->columns++] = (struct results_texts){.column = column};
    }
}

/* Values are often those of the point before, and then the same text. */
static void free_texts(struct results_texts *texts, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (i == 0 || texts->values[i] != texts->values[i - 1])
            memory_free(texts->values[i]);
    memory_free(texts->values);
}

void results_labels_fini(struct results *results)
{
    struct results_labels *labels = &results->labels;
    for (uint32_t i = 0; i < labels->columns; i++)
        free_texts(&labels->texts[i], labels->count);
    memory_free(labels->texts);
    memory_free(labels->config);
}

static void add_text(struct results_texts *texts, uint64_t count, const char *value)
{
    char text[NAME_BYTES]; /* UTF-8, whatever a file is called */
    text_escape(value != NULL ? value : "", text, sizeof text);
    if ((count & (count - 1)) == 0)
        texts->values =
            memory_resize(texts->values, count > 0 ? 2 * count : 1, sizeof *texts->values);
    bool again = count > 0 && strcmp(texts->values[count - 1], text) == 0;
    texts->values[count] = again ? texts->values[count - 1] : memory_copy_text(text);
    texts->bytes += strlen(text) + TEXT_BYTES;
}

void results_labels_add(struct results *results, const void *scalars)
{
    struct results_labels *labels = &results->labels;
    for (uint32_t i = 0; i < labels->columns; i++) {
        const void *at = (const char *)scalars + labels->texts[i].column.offset;
        add_text(&labels->texts[i], labels->count, *(const char *const *)at);
    }
    labels->count++;
}

uint64_t results_labels_bytes(const struct results *results)
{
    const struct results_labels *labels = &results->labels;
    const struct results_layout *layout = &results->layout;
    uint64_t bytes = strlen(labels->config) + DATASET_BYTES;
    for (uint32_t i = 0; i < labels->columns; i++)
        bytes += labels->texts[i].bytes + labels->texts[i].bytes / 16;
    bytes += sizeof(uint64_t) * (results->written + layout->cubes + layout->pes + layout->groups);
    return bytes + (uint64_t)(labels->columns + results->columns + AXES_MAX) * DATASET_BYTES;
}

static bool write_machine(int64_t file, const char *text)
{
    int64_t config = hdf5_open(file, "config");
    int64_t dataset = hdf5_texts_write(config, "machine", &text, 1,
                                       "the machine: the full configuration as YAML text");
    bool good = dataset >= 0;
    if (good)
        hdf5_dataset_close(dataset);
    hdf5_group_close(config);
    return good;
}

/* The scales made so far. */
struct scales {
    const struct results *results;
    int64_t points; /* the group */
    uint32_t count;
    const char *names[AXES_MAX];
    int64_t scale[AXES_MAX];
    struct hdf5_axis *axes[AXES_MAX]; /* that have this scale */
    uint32_t axes_count[AXES_MAX];
};

/* The names of an axis, its coordinates. */
static int64_t new_named_scale(const struct scales *scales, const struct results_axis *axis)
{
    const char **names = memory_new(axis->length, sizeof *names);
    for (uint32_t i = 0; i < axis->length; i++)
        names[i] = axis->name_of(i);
    int64_t scale =
        hdf5_texts_write(scales->points, axis->name, names, axis->length, axis->description);
    memory_free(names);
    return scale;
}

/* Numbers from 0. */
static int64_t new_counted_scale(const struct scales *scales, const struct results_axis *axis)
{
    static const struct hdf5_type type = {HDF5_U64, 0, 0, NULL};
    struct hdf5_shape shape = {1, {axis->length}, {axis->length}, {axis->length}};
    uint64_t *numbers = memory_new(axis->length, sizeof *numbers);
    for (uint64_t i = 0; i < axis->length; i++)
        numbers[i] = i;
    int64_t scale =
        hdf5_dataset_new(scales->points, axis->name, &type, &shape, "1", axis->description);
    bool good = hdf5_dataset_write_alone(scale, &type, numbers);
    memory_free(numbers);
    return good ? scale : -1;
}

/* The number of the axis's scale, made for the first who has it; negative: it could not be made. */
static int scale_of(struct scales *scales, const struct results_axis *axis)
{
    for (uint32_t i = 0; i < scales->count; i++)
        if (strcmp(scales->names[i], axis->name) == 0)
            return (int)i;
    if (scales->count == AXES_MAX)
        return -1;
    int64_t scale =
        axis->name_of != NULL ? new_named_scale(scales, axis) : new_counted_scale(scales, axis);
    if (scale < 0 || !hdf5_scale_make(scale, axis->name))
        return -1;
    scales->names[scales->count] = axis->name;
    scales->scale[scales->count++] = scale;
    return (int)scales->count - 1;
}

static bool attach(struct scales *scales, const struct results_column *column, int64_t dataset)
{
    struct results_axis axes[HDF5_RANK_MAX];
    uint32_t rank = results_column_axes(column, &scales->results->layout, axes);
    uint64_t reference = dataset >= 0 ? hdf5_reference(dataset) : 0;
    int64_t of_axes[HDF5_RANK_MAX];
    axes[0].length = scales->results->written;
    for (uint32_t i = 0; i < rank; i++) {
        int at = reference != 0 ? scale_of(scales, &axes[i]) : -1;
        if (at < 0)
            return false;
        uint32_t count = scales->axes_count[at]++;
        of_axes[i] = scales->scale[at];
        scales->axes[at] =
            memory_resize(scales->axes[at], scales->axes_count[at], sizeof *scales->axes[at]);
        scales->axes[at][count].dataset = reference;
        scales->axes[at][count].axis = (int)i;
    }
    return hdf5_scales_attach(dataset, of_axes, rank);
}

/* Tells each scale who uses it. */
static bool finish_scales(const struct scales *scales)
{
    bool good = true;
    for (uint32_t i = 0; good && i < scales->count; i++)
        good = hdf5_scale_used(scales->scale[i], scales->axes[i], scales->axes_count[i]);
    return good;
}

static bool label_rows(struct scales *scales)
{
    const struct results *results = scales->results;
    bool good = true;
    for (uint32_t i = 0; good && i < results->columns; i++) {
        const struct results_column *column = &results->rows[i].column;
        int64_t dataset = hdf5_open(scales->points, column->name);
        good = attach(scales, column, dataset);
        if (dataset >= 0)
            hdf5_dataset_close(dataset);
    }
    return good;
}

static bool write_texts(struct scales *scales)
{
    const struct results_labels *labels = &scales->results->labels;
    bool good = true;
    for (uint32_t i = 0; good && i < labels->columns; i++) {
        const struct results_texts *texts = &labels->texts[i];
        const struct results_column *column = &texts->column;
        int64_t dataset =
            hdf5_texts_write(scales->points, column->name, (const char *const *)texts->values,
                             labels->count, column->description);
        good = attach(scales, column, dataset);
        if (dataset >= 0)
            hdf5_dataset_close(dataset);
    }
    return good;
}

bool results_labels_write(int64_t file, const void *context)
{
    struct scales scales = {.results = context};
    if (!write_machine(file, scales.results->labels.config))
        return false;
    if (scales.results->written == 0) /* no dataset may be empty */
        return true;
    scales.points = hdf5_open(file, "points");
    bool good = write_texts(&scales) && label_rows(&scales) && finish_scales(&scales);
    for (uint32_t i = 0; i < scales.count; i++) {
        hdf5_dataset_close(scales.scale[i]);
        memory_free(scales.axes[i]);
    }
    hdf5_group_close(scales.points);
    return good;
}
