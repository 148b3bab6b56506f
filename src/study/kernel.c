#include "study/kernel.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kernels/registry.h"
#include "support/memory.h"

static bool is_file(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 3 && strcmp(name + length - 3, ".so") == 0);
}

/* A name without a folder is a file here, not one of the system's libraries. */
static void *open_object(const char *name, struct error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%.4000s", strchr(name, '/') ? "" : "./", name);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (object == NULL)
        error_set(err, ERROR_USAGE, "--kernel: cannot open '%.200s': %.700s", name, dlerror());
    return object;
}

static const struct tl_kernel_info *load(const char *name, struct error *err)
{
    void *object = open_object(name, err);
    if (object == NULL)
        return NULL;
    const struct tl_kernel_info *info = dlsym(object, "ahbm_kernel");
    dlclose(object); /* it stays in memory: RTLD_NODELETE */
    if (info == NULL)
        error_set(err, ERROR_USAGE, "--kernel: '%.200s' defines no 'ahbm_kernel' (ahbm/kernel.h)",
                  name);
    else if (info->abi != TL_KERNEL_ABI)
        error_set(err, ERROR_USAGE,
                  "--kernel: '%.200s' was built for kernel interface %u, but this program has %d: "
                  "build it again",
                  name, info->abi, TL_KERNEL_ABI);
    else if (info->name == NULL || info->run == NULL)
        error_set(err, ERROR_USAGE, "--kernel: '%.200s' leaves name or run empty", name);
    return err->code == ERROR_NONE ? info : NULL;
}

static const struct tl_kernel_info *find(const char *name, struct error *err)
{
    if (is_file(name))
        return load(name, err);
    const struct tl_kernel_info *info = kernel_find(name);
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
    options->kernels = NULL;
    options->kernels_count = 0;
}

const struct tl_kernel_info *kernel_resolve(const struct study_options *options, struct error *err)
{
    const char *name = options->kernel ? options->kernel : phase_name(options->phase);
    const struct tl_kernel_info *info = find(name, err);
    if (info == NULL)
        return NULL;
    if (options->phase_given && info->phase != options->phase)
        error_set(err, ERROR_USAGE, "--phase: kernel %s does %s, not %s", info->name,
                  phase_name(info->phase), phase_name(options->phase));
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
