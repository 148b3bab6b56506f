/* Long-context prefill. launch->cube_sp: the context is split over the CUBEs and KV blocks rotate
 * (Ring KV), else every CUBE has all of it. launch->pe_sp: the keys are split over the PEs of a
 * CUBE, which reduce (m, l, O) at the end, else the query positions are (launch->shards). Each CUBE
 * works on its own heads and writes their O. */
#ifndef AHBM_KERNELS_PREFILL_H
#define AHBM_KERNELS_PREFILL_H

#include <ahbm/tl.h>

tl_kernel kernel_prefill;

/* Rotates the ring once for every set of query blocks that fits into scratch, instead of keeping
 * (m, l, O) in HBM. */
tl_kernel kernel_prefill_rotate;

/* Everything on PE 0 of a group of one CUBE. */
tl_kernel kernel_prefill_one_pe;

#endif
