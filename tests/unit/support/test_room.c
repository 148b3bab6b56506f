/* What is left of a machine's memory, from files as Linux has them. */
#include "support/room.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../check.h"

#define MIB (UINT64_C(1) << 20)

static char root[] = "/tmp/ahbm-room-XXXXXX";

/* Writes a file below the root, its folders too. */
static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        CU_ASSERT_TRUE(mkdir(whole, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

static void clear(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s/*", root);
    CU_ASSERT_EQUAL(system(command), 0);
}

static void expect(uint64_t bytes, const char *what)
{
    struct room room = room_of_node(root);
    CU_ASSERT_EQUAL(room.bytes, bytes);
    CU_ASSERT_PTR_NOT_NULL(strstr(room.what, what));
}

static void machine(void)
{
    put("/proc/meminfo", "MemTotal:       24683520 kB\nMemFree:          100000 kB\n"
                         "MemAvailable:    2048 kB\nSwapTotal:  0 kB\nSwapFree:   1024 kB\n");
}

static void test_machine(void)
{
    expect(UINT64_MAX, "nothing");
    machine();
    expect(3 * MIB, "free memory");
    clear();
}

/* The limit may stand at any height; cache that can be dropped is no use of it. */
static void test_version_2(void)
{
    machine();
    put("/proc/self/cgroup", "0::/user.slice/job\n");
    put("/sys/fs/cgroup/user.slice/job/memory.max", "max\n");
    put("/sys/fs/cgroup/user.slice/job/memory.current", "524288\n");
    expect(3 * MIB, "free memory");
    put("/sys/fs/cgroup/user.slice/memory.max", "2097152\n");
    put("/sys/fs/cgroup/user.slice/memory.current", "1048576\n");
    put("/sys/fs/cgroup/user.slice/memory.stat", "anon 5\nfile 9\ninactive_file 262144\n");
    expect(MIB + MIB / 4, "control group");
    put("/sys/fs/cgroup/user.slice/job/memory.max", "524289\n");
    expect(1, "control group");
    put("/sys/fs/cgroup/user.slice/job/memory.max", "4096\n");
    expect(0, "control group");
    clear();
}

/* In a container the path is that of the host, and the limit stands at the top. */
static void test_container(void)
{
    machine();
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/memory.max", "1048576\n");
    put("/sys/fs/cgroup/memory.current", "1024\n");
    expect(MIB - 1024, "control group");
    put("/proc/self/cgroup", "0::/../other/place\n");
    expect(MIB - 1024, "control group");
    clear();
}

static void test_version_1(void)
{
    machine();
    put("/proc/self/cgroup", "12:pids:/a\n9:cpu,memory:/docker/b\n1:name=systemd:/c\n");
    put("/sys/fs/cgroup/memory/docker/b/memory.limit_in_bytes", "1048576\n");
    put("/sys/fs/cgroup/memory/docker/b/memory.usage_in_bytes", "1000\n");
    put("/sys/fs/cgroup/memory/docker/b/memory.stat", "inactive_file 1\ntotal_inactive_file 900\n");
    expect(MIB - 100, "control group");
    put("/sys/fs/cgroup/memory/docker/b/memory.limit_in_bytes", "9223372036854771712\n");
    expect(3 * MIB, "free memory");
    clear();
}

static void test_mappings(void)
{
    CU_ASSERT_EQUAL(room_of_mappings(root), UINT64_MAX);
    put("/proc/sys/vm/max_map_count", "65530\n");
    CU_ASSERT_EQUAL(room_of_mappings(root), 65530);
    clear();
}

#ifndef __SANITIZE_ADDRESS__ /* it maps more than any limit leaves */
static void test_process(void)
{
    struct rlimit limit, small;
    getrlimit(RLIMIT_DATA, &limit);
    small = limit;
    small.rlim_cur = UINT64_C(8) << 30;
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_DATA, &small), 0);
    struct room room = room_of_process();
    CU_ASSERT_TRUE(room.bytes < small.rlim_cur && room.bytes > small.rlim_cur / 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(room.what, "ulimit -d"));
    small.rlim_cur = 4096;
    setrlimit(RLIMIT_DATA, &small);
    CU_ASSERT_EQUAL(room_of_process().bytes, 0);
    setrlimit(RLIMIT_DATA, &limit);
}
#endif

int main(void)
{
    CU_TestInfo tests[] = {
        {"the machine's memory", test_machine},
        {"control groups, version 2", test_version_2},
        {"control groups seen from a container", test_container},
        {"control groups, version 1", test_version_1},
        {"memory mappings", test_mappings},
#ifndef __SANITIZE_ADDRESS__
        {"limits of the process", test_process},
#endif
        CU_TEST_INFO_NULL,
    };
    if (mkdtemp(root) == NULL)
        return 2;
    int status = check_run("support/room", tests);
    rmdir(root);
    return status;
}
