#include "support/room.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 4096 + 64 };

static FILE *open_below(const char *root, const char *path)
{
    char whole[PATH_BYTES];
    int length = snprintf(whole, sizeof whole, "%s%s", root, path);
    return length > 0 && (size_t)length < sizeof whole ? fopen(whole, "re") : NULL;
}

/* The number behind `key` at the beginning of a line; 0 when there is none. */
static uint64_t number_of(const char *root, const char *path, const char *key)
{
    char line[LINE_BYTES];
    uint64_t value = 0;
    size_t length = strlen(key);
    FILE *file = open_below(root, path);
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, length) == 0 && strchr(" \t", line[length]) != NULL) {
            value = strtoull(line + length, NULL, 10);
            break;
        }
    fclose(file);
    return value;
}

/* The one number of a file; UINT64_MAX for "max", and when there is none. */
static uint64_t only_number(const char *root, const char *path)
{
    char line[LINE_BYTES], *end;
    uint64_t value = UINT64_MAX;
    FILE *file = open_below(root, path);
    if (file == NULL)
        return UINT64_MAX;
    if (fgets(line, sizeof line, file) != NULL) {
        uint64_t read = strtoull(line, &end, 10);
        value = end == line ? UINT64_MAX : read;
    }
    fclose(file);
    return value;
}

static void lower(struct room *room, uint64_t bytes, const char *what)
{
    if (bytes < room->bytes)
        *room = (struct room){bytes, what};
}

/* ---- control groups ---- */

/* The files of one version. */
struct version {
    const char *mount, *limit, *usage, *cache;
};

static const struct version versions[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file"},
};

static void ask_group(const char *root, const struct version *version, const char *group,
                      struct room *room)
{
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s%s/%s", version->mount, group, version->limit);
    uint64_t limit = only_number(root, path);
    snprintf(path, sizeof path, "%s%s/%s", version->mount, group, version->usage);
    uint64_t usage = only_number(root, path);
    snprintf(path, sizeof path, "%s%s/memory.stat", version->mount, group);
    uint64_t cache = number_of(root, path, version->cache);
    if (limit == UINT64_MAX || usage == UINT64_MAX)
        return;
    usage -= cache < usage ? cache : usage;
    lower(room, limit > usage ? limit - usage : 0, "its control group's limit");
}

/* The group and those above it: each may have a limit. In a container its path may be another
 * there than here, but the top is always its own. */
static void ask_groups(const char *root, const struct version *version, char *group,
                       struct room *room)
{
    for (;;) {
        ask_group(root, version, group, room);
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

/* A line is "0::/path" for version 2, "9:memory:/path" for version 1. */
static void ask_line(const char *root, char *line, struct room *room)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (path == NULL)
        return;
    *path++ = '\0';
    controllers++;
    if (strcmp(path, "/") == 0)
        *path = '\0';
    if (*controllers == '\0')
        ask_groups(root, &versions[0], path, room);
    for (char *one; (one = strsep(&controllers, ",")) != NULL;)
        if (strcmp(one, "memory") == 0)
            ask_groups(root, &versions[1], path, room);
}

struct room room_of_node(const char *root)
{
    struct room room = {UINT64_MAX, "nothing"};
    char line[LINE_BYTES];
    uint64_t available = number_of(root, "/proc/meminfo", "MemAvailable:");
    if (available > 0)
        lower(&room, 1024 * (available + number_of(root, "/proc/meminfo", "SwapFree:")),
              "the machine's free memory");
    FILE *groups = open_below(root, "/proc/self/cgroup");
    if (groups == NULL)
        return room;
    while (fgets(line, sizeof line, groups) != NULL)
        ask_line(root, line, &room);
    fclose(groups);
    return room;
}

/* ---- the process ---- */

static void ask_limit(struct room *room, __rlimit_resource_t resource, const char *used,
                      const char *what)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    uint64_t taken = 1024 * number_of("", "/proc/self/status", used);
    lower(room, limit.rlim_cur > taken ? limit.rlim_cur - taken : 0, what);
}

struct room room_of_process(void)
{
    struct room room = {UINT64_MAX, "nothing"};
    ask_limit(&room, RLIMIT_AS, "VmSize:", "its limit on address space (ulimit -v)");
    ask_limit(&room, RLIMIT_DATA, "VmData:", "its limit on data (ulimit -d)");
    return room;
}

uint64_t room_of_mappings(const char *root)
{
    return only_number(root, "/proc/sys/vm/max_map_count");
}
