#include "study/kernel.h"

#include <assert.h>
#include <string.h>

#include "kernels/registry.h"
#include "study/object.h"
#include "study/same.h"
#include "support/input.h"
#include "support/memory.h"

static bool is_file(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 3 && strcmp(name + length - 3, ".so") == 0);
}

/* Every process opens the object, once, and all have the same one. */
static const struct tl_kernel_info *load_same(const struct comm *comm, const char *name,
                                              struct error *err)
{
    struct input_identity identity = {0, 0};
    const struct tl_kernel_info *info = NULL;
    if (!input_identify(name, &identity, err))
        error_context(err, "--kernel: %.200s", name);
    if (comm != NULL)
        same_file(comm, "kernel", name, &identity, err);
    if (err->code == ERROR_NONE)
        info = object_load(name, err);
    if (comm != NULL)
        same_agree(comm, err);
    return err->code == ERROR_NONE ? info : NULL;
}

bool kernels_load(const struct comm *comm, struct study_options *options, struct error *err)
{
    options->objects =
        memory_resize(options->objects, options->kernels_count, sizeof(struct tl_kernel_info *));
    for (uint32_t i = 0; i < options->kernels_count; i++) {
        bool file = is_file(options->kernels[i]);
        options->objects[i] = file ? load_same(comm, options->kernels[i], err) : NULL;
        if (err->code != ERROR_NONE)
            return false;
    }
    return true;
}

static const struct tl_kernel_info *find(const struct study_options *options, struct error *err)
{
    const char *name = options->kernel != NULL  ? options->kernel
                       : options->phase != NULL ? options->phase
                                                : kernel_list()->name;
    assert(!is_file(name) || options->object != NULL); /* kernels_load() */
    const struct tl_kernel_info *info = options->object ? options->object : kernel_find(name);
    if (info == NULL)
        error_set(err, ERROR_USAGE, "--kernel: there is no kernel '%.200s' (see --list-kernels)",
                  name);
    return info;
}

static void append(struct study_options *options, const char *name)
{
    options->kernels =
        memory_resize(options->kernels, options->kernels_count + 1, sizeof *options->kernels);
    options->kernels[options->kernels_count++] = memory_copy_text(name);
}

/* Appends a kernel's name, or those of a set. */
static void append_all(struct study_options *options, const char *name)
{
    const struct kernel_set *set = kernel_sets();
    while (set->name != NULL && strcmp(set->name, name) != 0)
        set++;
    if (set->name == NULL)
        append(options, name);
    else
        for (const char *const *kernel = set->kernels; *kernel != NULL; kernel++)
            append(options, *kernel);
}

bool kernel_names(const char *text, struct study_options *options, struct error *err)
{
    char *copy = memory_copy_text(text), *rest = copy, *name;
    kernel_names_free(options);
    while (err->code == ERROR_NONE && (name = strsep(&rest, ",")) != NULL)
        if (*name == '\0')
            error_set(err, ERROR_USAGE, "--kernel: '%.200s' has an empty name", text);
        else
            append_all(options, name);
    memory_free(copy);
    return err->code == ERROR_NONE;
}

void kernel_names_free(struct study_options *options)
{
    for (uint32_t i = 0; i < options->kernels_count; i++)
        memory_free(options->kernels[i]);
    memory_free(options->kernels);
    memory_free(options->objects);
    options->kernels = NULL;
    options->objects = NULL;
    options->kernels_count = 0;
}

const struct tl_kernel_info *kernel_resolve(const struct study_options *options, struct error *err)
{
    const struct tl_kernel_info *info = find(options, err);
    if (info == NULL)
        return NULL;
    if (options->phase != NULL && strcmp(kernel_phase(info), options->phase) != 0)
        error_set(err, ERROR_USAGE, "--phase: kernel %s does %s, not %s", info->name,
                  kernel_phase(info), options->phase);
    else if (options->cases_given && info->placement != TL_PLACE_BY_CASE)
        error_set(err, ERROR_USAGE, "--case: kernel %s has a placement of its own", info->name);
    else if (options->message > 0 && !info->collective)
        error_set(err, ERROR_USAGE, "--message: kernel %s is no collective", info->name);
    else if (options->message > 0 && options->verify)
        error_set(err, ERROR_USAGE,
                  "--verify: a message has no attention to compare with (leave out --message)");
    else if (options->message % 4 != 0)
        error_set(err, ERROR_USAGE, "--message: %llu bytes are not whole f32 numbers",
                  (unsigned long long)options->message);
    return err->code == ERROR_NONE ? info : NULL;
}
