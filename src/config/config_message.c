/* The texts of configuration errors: one line each, whatever the user wrote. */
#include "config/config_internal.h"

#include <stdarg.h>
#include <string.h>

static void print_place(struct config_place place, const char *key, char *out, size_t bytes)
{
    if (place.label == NULL)
        out[0] = '\0';
    else if (place.line > 0)
        snprintf(out, bytes, "%s:%zu: ", place.label, place.line);
    else
        snprintf(out, bytes, "%s%s ", place.label, key == NULL ? ":" : "");
}

bool config_fail(struct error *err, struct config_place place, const char *key, const char *format,
                 ...)
{
    char where[CONFIG_LABEL_BYTES + 32], message[ERROR_TEXT_BYTES / 2];
    print_place(place, key, where, sizeof where);
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return error_set(err, ERROR_USAGE, "%s%s%s%s", where, key == NULL ? "" : key,
                     key == NULL ? "" : ": ", message);
}

bool config_fail_key(struct error *err, struct config_place place, const char *key)
{
    char quoted[CONFIG_QUOTE_BYTES], nearest[CONFIG_KEY_BYTES];
    size_t first;
    if (config_schema_find_group(key, &first))
        return config_fail(err, place, key, "is a group of keys, such as %s",
                           config_schema_row(first)->key);
    config_quote(key, quoted);
    if (config_schema_suggest(key, nearest) != NULL)
        return config_fail(err, place, NULL, "unknown key %s (did you mean %s?)", quoted, nearest);
    return config_fail(err, place, NULL, "unknown key %s (--print-config shows all keys)", quoted);
}

const char *config_quote(const char *text, char out[CONFIG_QUOTE_BYTES])
{
    size_t length = strlen(text), shown = length;
    bool cut = length > CONFIG_QUOTE_BYTES - 3;
    if (cut)
        shown = CONFIG_QUOTE_BYTES - 6;
    snprintf(out, CONFIG_QUOTE_BYTES, "'%.*s%s'", (int)shown, text, cut ? "..." : "");
    for (char *at = out; *at != '\0'; at++) {
        if (*at < ' ' || *at > '~')
            *at = '?';
    }
    return out;
}

/* Of a long path the end tells more than the start. */
const char *config_label(const char *path, char out[CONFIG_LABEL_BYTES])
{
    size_t length = strlen(path), room = CONFIG_LABEL_BYTES - 1;
    if (length <= room)
        strcpy(out, path);
    else
        snprintf(out, CONFIG_LABEL_BYTES, "...%s", path + length - (room - 3));
    for (char *at = out; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    }
    return out;
}
