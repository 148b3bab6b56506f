/* The shipped kernels by name. */
#ifndef AHBM_KERNELS_REGISTRY_H
#define AHBM_KERNELS_REGISTRY_H

#include <ahbm/kernel.h>

/* The entries, ended by one whose name is NULL. */
const struct tl_kernel_info *kernel_list(void);

/* NULL when there is none of that name. */
const struct tl_kernel_info *kernel_find(const char *name);

/* Several kernels under one name. */
struct kernel_set {
    const char *name, *summary;
    const char *const *kernels; /* ended by NULL */
};

/* The entries, ended by one whose name is NULL. */
const struct kernel_set *kernel_sets(void);

#endif
