#include "support/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool error_set(struct error *err, enum error_code code, const char *format, ...)
{
    if (err->code != ERROR_NONE)
        return false;
    err->code = code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return false;
}

bool error_context(struct error *err, const char *format, ...)
{
    char context[ERROR_TEXT_BYTES / 4];
    char text[ERROR_TEXT_BYTES + sizeof context + 2];
    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    snprintf(text, sizeof text, "%s: %s", context, err->text);
    memcpy(err->text, text, sizeof err->text - 1);
    err->text[sizeof err->text - 1] = '\0';
    return false;
}

void error_clear(struct error *err)
{
    err->code = ERROR_NONE;
    err->text[0] = '\0';
}

_Noreturn void error_bug(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("ahbm-pdes: bug: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}
