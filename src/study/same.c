#include "study/same.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool same_agree(const struct group *group, struct error *err)
{
    char host[256] = "";
    if (err->code != ERROR_NONE && group->rank != 0) {
        size_t used = strlen(err->text);
        gethostname(host, sizeof host - 1);
        snprintf(err->text + used, sizeof err->text - used, " (on rank %u, host %s)", group->rank,
                 host);
    }
    return group_agree(group, err);
}

bool same_file(const struct group *group, const char *option, const char *path,
               const struct input_identity *mine, struct error *err)
{
    struct input_identity first = *mine;
    if (!same_agree(group, err))
        return false;
    group_broadcast(group, &first, sizeof first);
    if (first.bytes != mine->bytes || first.digest != mine->digest)
        error_set(err, ERROR_USAGE, "--%s: %.200s: is another file than that of rank 0", option,
                  path);
    return same_agree(group, err);
}
