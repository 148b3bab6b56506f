/* Long-context decode, cases 1 to 4: launch->cube_sp and pe_sp say over what the KV cache is split.
 */
#ifndef AHBM_KERNELS_DECODE_H
#define AHBM_KERNELS_DECODE_H

#include <ahbm/tl.h>

tl_kernel kernel_decode;

/* Everything on PE 0 of a group of one CUBE. */
tl_kernel kernel_decode_one_pe;

#endif
