/* How much more memory there is: of the machine, of the control group, of the process's limits. */
#ifndef AHBM_SUPPORT_ROOM_H
#define AHBM_SUPPORT_ROOM_H

#include <stdint.h>

struct room {
    uint64_t bytes;
    const char *what; /* that allows no more: "the machine's free memory (MemAvailable)" */
};

/* What all processes of this node may take together: the machine's available memory, swap
 * included, or what the control group of this process (version 1 or 2) or one above it has left;
 * page cache that can be dropped counts as left. `root` comes before /proc and /sys: "" but in
 * tests. UINT64_MAX when nothing is known. */
struct room room_of_node(const char *root);

/* What this process may take: its limits on address space and data. */
struct room room_of_process(void);

/* Memory mappings that a process may have (vm.max_map_count); UINT64_MAX when not known. */
uint64_t room_of_mappings(const char *root);

#endif
