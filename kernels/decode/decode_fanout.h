/* Baseline decode: all-to-all fan-out of (m, l, O), N - 1 steps over the PEs of each CUBE and again
 * over the CUBEs; every PE has, and stores, the result. */
#ifndef AHBM_KERNELS_DECODE_FANOUT_H
#define AHBM_KERNELS_DECODE_FANOUT_H

#include <ahbm/tl.h>

tl_kernel kernel_decode_fanout;

#endif
