#include "support/count.h"

#include <ctype.h>
#include <string.h>

bool count_parse(const char *text, const char *end, uint64_t *value)
{
    static const char suffixes[] = "KMG";
    *value = 0;
    if (text == end || !isdigit((unsigned char)*text))
        return false;
    for (; text != end && isdigit((unsigned char)*text); text++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*text - '0'), value))
            return false;
    if (text == end)
        return true;
    const char *suffix = *text != '\0' ? strchr(suffixes, toupper((unsigned char)*text)) : NULL;
    if (suffix == NULL || text + 1 != end)
        return false;
    return !__builtin_mul_overflow(*value, UINT64_C(1) << (10 * (suffix - suffixes + 1)), value);
}
