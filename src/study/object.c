#include "study/object.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "kernels/registry.h"

/* Whether all segments lie in the file. What is no object of this machine is the loader's to tell.
 */
static bool is_whole(FILE *file)
{
    const unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    ElfW(Ehdr) header;
    ElfW(Phdr) segment;
    if (fread(&header, sizeof header, 1, file) != 1 ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != class ||
        header.e_phentsize != sizeof segment || fseek(file, 0, SEEK_END) != 0)
        return true;
    uint64_t bytes = (uint64_t)ftell(file), end;
    if (header.e_phoff > bytes || fseek(file, (long)header.e_phoff, SEEK_SET) != 0)
        return false;
    for (unsigned i = 0; i < header.e_phnum; i++)
        if (fread(&segment, sizeof segment, 1, file) != 1 ||
            __builtin_add_overflow(segment.p_offset, segment.p_filesz, &end) || end > bytes)
            return false;
    return true;
}

/* A name without a folder is a file here, not one of the system's libraries. */
static void *open_object(const char *name, struct error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%.4000s", strchr(name, '/') ? "" : "./", name);
    FILE *file = fopen(path, "rb");
    bool whole = file == NULL || is_whole(file);
    if (file != NULL)
        fclose(file);
    if (!whole)
        error_set(err, ERROR_USAGE,
                  "--kernel: cannot open '%.200s': the file is shorter than its contents", name);
    void *object = whole ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    if (object == NULL && whole)
        error_set(err, ERROR_USAGE, "--kernel: cannot open '%.200s': %.700s", name, dlerror());
    return object;
}

/* Options of its own; counts no further than one too many. */
static int own_count(const struct tl_kernel_info *info)
{
    int count = 0;
    while (info->own != NULL && count <= TL_OWN_OPTIONS && info->own[count].name != NULL)
        count++;
    return count;
}

const struct tl_kernel_info *object_load(const char *name, struct error *err)
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
    else if (!kernel_has_phase(info))
        error_set(err, ERROR_USAGE, "--kernel: '%.200s' has a phase that is none: %d", name,
                  (int)info->phase);
    else if (own_count(info) > TL_OWN_OPTIONS)
        error_set(err, ERROR_USAGE, "--kernel: '%.200s' has more than %d options of its own", name,
                  TL_OWN_OPTIONS);
    return err->code == ERROR_NONE ? info : NULL;
}
