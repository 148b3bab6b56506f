#include "kernels/registry.h"

#include <string.h>

#include "kernels/decode.h"

static const struct kernel_entry entries[] = {
    {"decode", "long-context decode, cases 1-4", kernel_decode},
    {NULL, NULL, NULL},
};

const struct kernel_entry *kernel_list(void)
{
    return entries;
}

const struct kernel_entry *kernel_find(const char *name)
{
    for (const struct kernel_entry *entry = entries; entry->name != NULL; entry++)
        if (strcmp(entry->name, name) == 0)
            return entry;
    return NULL;
}
