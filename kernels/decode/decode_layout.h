/* How a decode describes itself: keys dealt round-robin (include/ahbm/kit/placement.h), Q on each
 * PE that works on a request. */
#ifndef AHBM_KERNELS_DECODE_LAYOUT_H
#define AHBM_KERNELS_DECODE_LAYOUT_H

#include <ahbm/kernel.h>

tl_choose decode_choose;

/* O wherever the kernel stores it. */
tl_layout decode_layout;

/* Of a kernel that stores O on every PE: the root's is looked at. */
tl_layout decode_layout_root;

#endif
