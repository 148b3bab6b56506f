#include "cli/machine.h"

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

bool machine_read(const struct options *options, char **label, char **text, size_t *bytes,
                  struct error *err)
{
    const char *name = options->config ? options->config : DEFAULT_MACHINE;
    char path[PATH_MAX];
    bool plain = strchr(name, '/') == NULL && (options->config == NULL || access(name, F_OK) != 0);
    if (!plain || !find_installed(name, path))
        snprintf(path, sizeof path, "%s", name);
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
