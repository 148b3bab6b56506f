/* The shipped kernels by name. */
#ifndef AHBM_KERNELS_REGISTRY_H
#define AHBM_KERNELS_REGISTRY_H

#include <ahbm/tl.h>

struct kernel_entry {
    const char *name;
    const char *summary; /* one line */
    tl_kernel *run;
};

/* The entries, ended by one whose name is NULL. */
const struct kernel_entry *kernel_list(void);

/* NULL when there is none of that name. */
const struct kernel_entry *kernel_find(const char *name);

#endif
