/* The shipped kernels by name. */
#ifndef AHBM_KERNELS_REGISTRY_H
#define AHBM_KERNELS_REGISTRY_H

#include <ahbm/kernel.h>

/* The entries, ended by one whose name is NULL. */
const struct tl_kernel_info *kernel_list(void);

/* NULL when there is none of that name. */
const struct tl_kernel_info *kernel_find(const char *name);

/* What the kernel says of itself, or the shipped kernel of its phase for it (ahbm/kernel.h). The
 * phase is a word; the kernel of that name is run when none is named. */
const char *kernel_phase(const struct tl_kernel_info *kernel);
bool kernel_has_phase(const struct tl_kernel_info *kernel); /* one that there is */
void kernel_choose(const struct tl_kernel_info *kernel, struct tl_launch *launch);
bool kernel_check(const struct tl_kernel_info *kernel, const struct tl_launch *launch, char *why,
                  size_t size);
void kernel_layout(const struct tl_kernel_info *kernel, const struct tl_launch *launch,
                   struct tl_visitor *visitor);

/* Several kernels under one name. */
struct kernel_set {
    const char *name, *summary;
    const char *const *kernels; /* ended by NULL */
};

/* The entries, ended by one whose name is NULL. */
const struct kernel_set *kernel_sets(void);

#endif
