/* The prefill of KV that rotates over the CUBEs. */
#ifndef AHBM_KERNELS_PREFILL_RING_H
#define AHBM_KERNELS_PREFILL_RING_H

#include <ahbm/tl.h>

/* This PE's part of one request; `rotate`: see kernel_prefill_rotate. */
void prefill_ring(struct tl *tl, const struct tl_launch *launch, uint32_t request, bool rotate);

#endif
