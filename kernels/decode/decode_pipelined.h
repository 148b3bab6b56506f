/* Decode of a batch whose requests overlap on each PE: the first scores of the next request are
 * computed while this one is reduced. Cases 1 to 4. */
#ifndef AHBM_KERNELS_DECODE_PIPELINED_H
#define AHBM_KERNELS_DECODE_PIPELINED_H

#include <ahbm/tl.h>

tl_kernel kernel_decode_pipelined;

#endif
