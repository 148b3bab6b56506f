/* Baseline prefill: bidirectional K/V fan-out over the CUBEs, no overlap, no causal skip. Keys are
 * split over all PEs; it needs launch->ring_depth of 5 for its buffers. */
#ifndef AHBM_KERNELS_PREFILL_FANOUT_H
#define AHBM_KERNELS_PREFILL_FANOUT_H

#include <ahbm/tl.h>

tl_kernel kernel_prefill_fanout;

enum { PREFILL_FANOUT_DEPTH = 5 };

#endif
