#include "study/same.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool same_agree(const struct comm *comm, struct error *err)
{
    char host[256] = "";
    if (err->code != ERROR_NONE && comm->rank != 0) {
        size_t used = strlen(err->text);
        gethostname(host, sizeof host - 1);
        snprintf(err->text + used, sizeof err->text - used, " (on rank %u, host %s)", comm->rank,
                 host);
    }
    return comm_agree(comm, err);
}

bool same_file(const struct comm *comm, const char *option, const char *path,
               const struct input_identity *mine, struct error *err)
{
    struct input_identity first = *mine;
    if (!same_agree(comm, err))
        return false;
    comm_broadcast(comm, &first, sizeof first);
    if (first.bytes != mine->bytes || first.digest != mine->digest)
        error_set(err, ERROR_USAGE, "--%s: %.200s: is another file than that of rank 0", option,
                  path);
    return same_agree(comm, err);
}
