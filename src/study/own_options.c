#include "study/own_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "study/kernel.h"
#include "study/plan.h"
#include "support/count.h"

enum { LIST_BYTES = 700 };

struct list {
    char text[LIST_BYTES];
};

static void append(struct list *list, const char *text)
{
    size_t used = strlen(list->text);
    snprintf(list->text + used, LIST_BYTES - used, "%s", text);
}

/* "16 to 4096" or "a, b, c" */
static void append_allowed(struct list *list, const struct tl_own_option *row)
{
    char range[64];
    if (row->words == NULL) {
        snprintf(range, sizeof range, "%" PRIu64 " to %" PRIu64, row->least, row->most);
        append(list, range);
        return;
    }
    for (size_t i = 0; row->words[i] != NULL; i++) {
        append(list, i > 0 ? ", " : "");
        append(list, row->words[i]);
    }
}

/* "page = 16 to 4096 (default 256): tokens of a page" */
static void append_row(struct list *list, const struct tl_own_option *row)
{
    char initial[32];
    snprintf(initial, sizeof initial, "%" PRIu64, row->initial);
    append(list, row->name);
    append(list, " = ");
    append_allowed(list, row);
    append(list, " (default ");
    append(list, row->words != NULL ? row->words[0] : initial);
    append(list, ")");
    append(list, row->help != NULL ? ": " : "");
    append(list, row->help != NULL ? row->help : "");
}

/* The row that "NAME=..." or "NAME" means; NULL: none. */
static const struct tl_own_option *find(const struct tl_kernel_info *kernel, const char *given)
{
    size_t length = strcspn(given, "=");
    for (const struct tl_own_option *row = kernel->own; row != NULL && row->name != NULL; row++)
        if (strlen(row->name) == length && memcmp(row->name, given, length) == 0)
            return row;
    return NULL;
}

static bool parse(const struct tl_own_option *row, const char *text, uint64_t *value)
{
    if (row->words == NULL)
        return count_parse(text, text + strlen(text), value) && *value >= row->least &&
               *value <= row->most;
    for (*value = 0; row->words[*value] != NULL; ++*value)
        if (strcmp(row->words[*value], text) == 0)
            return true;
    return false;
}

static bool refuse_value(const struct tl_own_option *row, const char *text, struct error *err)
{
    struct list allowed = {""};
    append_allowed(&allowed, row);
    return error_set(err, ERROR_USAGE,
                     "--kernel-option: %.80s: '%.80s' is not allowed (allowed: %s)", row->name,
                     text, allowed.text);
}

bool own_values(const struct tl_kernel_info *kernel, const struct study_options *options,
                uint64_t values[TL_OWN_OPTIONS], struct error *err)
{
    for (size_t i = 0; kernel->own != NULL && kernel->own[i].name != NULL; i++)
        values[i] = kernel->own[i].words != NULL ? 0 : kernel->own[i].initial;
    for (uint32_t i = 0; i < options->own_count; i++) {
        const struct tl_own_option *row = find(kernel, options->own[i]);
        const char *text = strchr(options->own[i], '=');
        uint64_t value;
        if (row == NULL)
            continue;
        if (!parse(row, text + 1, &value))
            return refuse_value(row, text + 1, err);
        values[row - kernel->own] = value;
    }
    return true;
}

/* Appends "kernel a: its rows; kernel b: ..." */
static void append_kernel(struct list *list, const struct tl_kernel_info *kernel)
{
    append(list, list->text[0] != '\0' ? "; kernel " : "kernel ");
    append(list, kernel->name);
    if (kernel->own == NULL || kernel->own->name == NULL)
        append(list, " has none");
    for (const struct tl_own_option *row = kernel->own; row != NULL && row->name != NULL; row++) {
        append(list, row == kernel->own ? ": " : ", ");
        append_row(list, row);
    }
}

/* Whether some kernel has it; else `list` is what they have. */
static bool has_name(const struct study_options *options, const char *given, struct list *list)
{
    struct error ignored = {ERROR_NONE, ""};
    for (uint32_t i = 0; i < plan_kernels(options); i++) {
        struct study_options one = plan_options(options, i);
        const struct tl_kernel_info *kernel = kernel_resolve(&one, &ignored);
        if (find(kernel, given) != NULL)
            return true;
        append_kernel(list, kernel);
    }
    return false;
}

bool own_names(const struct study_options *options, struct error *err)
{
    for (uint32_t i = 0; i < options->own_count; i++) {
        struct list list = {""};
        const char *given = options->own[i];
        if (!has_name(options, given, &list))
            return error_set(err, ERROR_USAGE,
                             "--kernel-option: '%.*s' is no option of a kernel that is to run (%s)",
                             (int)(strcspn(given, "=") < 80 ? strcspn(given, "=") : 80), given,
                             list.text);
    }
    return true;
}
