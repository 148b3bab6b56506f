#include "cli/machine.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/memory.h"

#define DEFAULT_MACHINE "ahbm-sip"

/* Where machines lie: beside an installed program wherever it was moved, where it was to be
 * installed, and in the source tree of a build. */
static int folders(char found[3][PATH_MAX])
{
    char self[PATH_MAX] = "";
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    int count = 0;
    for (int up = 0; up < 2 && length > 0; up++) {
        self[length] = '\0';
        char *slash = strrchr(self, '/');
        length = slash ? slash - self : 0;
    }
    if (length > 0)
        snprintf(found[count++], PATH_MAX, "%.*s/share/ahbm-pdes/configs", (int)length, self);
    snprintf(found[count++], PATH_MAX, "%s", AHBM_DATADIR);
    snprintf(found[count++], PATH_MAX, "%s", AHBM_BUILD_CONFIGS);
    return count;
}

static bool find_installed(const char *name, char path[PATH_MAX])
{
    char found[3][PATH_MAX];
    int count = folders(found);
    for (int i = 0; i < count; i++) {
        bool suffix = strstr(name, ".yaml") != NULL;
        int used =
            snprintf(path, PATH_MAX, "%.2000s/%.200s%s", found[i], name, suffix ? "" : ".yaml");
        if (used < PATH_MAX && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* The machines of a folder, without their suffix. */
static uint32_t list_folder(const char *folder, FILE *out)
{
    char pattern[PATH_MAX + 8];
    glob_t files;
    uint32_t count = 0;
    snprintf(pattern, sizeof pattern, "%.4000s/*.yaml", folder);
    if (glob(pattern, 0, NULL, &files) != 0)
        return 0;
    for (; count < files.gl_pathc; count++) {
        const char *name = strrchr(files.gl_pathv[count], '/') + 1;
        fprintf(out, "%s%.*s", count > 0 ? ", " : " ", (int)(strlen(name) - strlen(".yaml")), name);
    }
    globfree(&files);
    return count;
}

/* Names what there is: the first folder that has machines hides the others. */
static bool fail_to_find(const char *name, struct error *err)
{
    char found[3][PATH_MAX], text[700] = "";
    int count = folders(found);
    uint32_t machines = 0;
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    fputs("installed are", out);
    for (int i = 0; i < count && machines == 0; i++)
        machines = list_folder(found[i], out);
    fputs(machines == 0 ? " none (looked in" : " (looked in", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s %s", i > 0 ? "," : "", found[i]);
    fputc(')', out);
    fclose(out);
    return error_set(err, ERROR_USAGE,
                     "--config: '%.80s' is no file in this folder, and no installed machine: %s",
                     name, text);
}

bool machine_read(const struct options *options, char **label, char **text, size_t *bytes,
                  struct error *err)
{
    const char *name = options->config ? options->config : DEFAULT_MACHINE;
    char path[PATH_MAX];
    bool plain = strchr(name, '/') == NULL && (options->config == NULL || access(name, F_OK) != 0);
    if (!plain)
        snprintf(path, sizeof path, "%s", name);
    else if (!find_installed(name, path))
        return fail_to_find(name, err);
    *label = memory_copy_text(path);
    return config_read(path, text, bytes, err);
}

struct config *machine_make(const struct options *options, const char *label, const char *text,
                            size_t bytes, struct error *err)
{
    struct config *config = config_new();
    bool ok = config_load_text(config, label, text, bytes, err);
    for (uint32_t i = 0; ok && i < options->assignments_count; i++)
        ok = config_set(config, options->assignments[i], err);
    if (ok && config_finish(config, err))
        return config;
    config_free(config);
    return NULL;
}
