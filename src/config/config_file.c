/* Reading a machine file whole. */
#include "config/config_internal.h"
#include "support/input.h"

bool config_read(const char *path, char **text, size_t *bytes, struct error *err)
{
    char label[CONFIG_LABEL_BYTES];
    struct config_place place = {config_label(path, label), 0};
    struct error why = {ERROR_NONE, ""};
    return input_read(path, CONFIG_FILE_BYTES, text, bytes, &why) ||
           config_fail(err, place, NULL, "the machine file %s", why.text);
}
