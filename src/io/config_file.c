/* Reading a machine file whole. */
#include "io/config.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "io/config_internal.h"
#include "support/memory.h"

static FILE *open_file(const char *path, struct config_place place, struct error *err)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        config_fail(err, place, NULL, "the machine file cannot be opened: %s", strerror(errno));
        return NULL;
    }
    if (fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode)) {
        config_fail(err, place, NULL, "is a directory; a machine file is expected");
        fclose(file);
        return NULL;
    }
    return file;
}

/* One byte above the limit is read, by which config_load_text() knows a file that is too large. */
bool config_read(const char *path, char **text, size_t *bytes, struct error *err)
{
    char label[CONFIG_LABEL_BYTES];
    struct config_place place = {config_label(path, label), 0};
    FILE *file = open_file(path, place, err);
    if (file == NULL)
        return false;
    *text = memory_new(CONFIG_FILE_BYTES + 2, 1);
    *bytes = fread(*text, 1, CONFIG_FILE_BYTES + 1, file);
    int fault = ferror(file) ? errno : 0;
    fclose(file);
    if (fault == 0)
        return true;
    memory_free(*text);
    return config_fail(err, place, NULL, "the machine file cannot be read: %s", strerror(fault));
}
