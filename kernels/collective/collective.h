/* Collectives as kernels of their own, so that they can be measured alone.
 *
 * With launch->message: every PE has a vector of f32 in HBM (at q_base); the sum over the PEs of
 * the group is stored (at o_base), streamed through scratch in panels. The hierarchical all-reduce
 * also sums over the groups of equal place in the other SIPs. Without: what is reduced is the (m,
 * l, O) of the context's keys, which are split over all PEs of the group as in decode case 4; O is
 * stored where the result lies.
 *
 * - reduce: to the root, PEs then CUBEs, in the shapes of the launch
 * - allreduce: the same, and back the same way
 * - allreduce-ring: PEs to their root, a ring over the CUBEs (reduce-scatter, all-gather), and back
 *   to the PEs
 * - allreduce-hierarchical: rings at all levels, every PE with its own part */
#ifndef AHBM_KERNELS_COLLECTIVE_H
#define AHBM_KERNELS_COLLECTIVE_H

#include <ahbm/tl.h>

tl_kernel kernel_reduce;
tl_kernel kernel_allreduce;
tl_kernel kernel_allreduce_ring;
tl_kernel kernel_allreduce_hierarchical;

#endif
