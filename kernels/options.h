/* Which options of the command line the shipped kernels look at (tl_options, ahbm/kernel.h). */
#ifndef AHBM_KERNELS_OPTIONS_H
#define AHBM_KERNELS_OPTIONS_H

#include <ahbm/kernel.h>

tl_options options_of_decode;           /* and of the kernels made like it, idle PEs aside: */
tl_options options_of_decode_pipelined; /* whose idle PEs stay idle */
tl_options options_of_decode_fanout;
tl_options options_of_prefill; /* of all that rotate or stay where they are */
tl_options options_of_prefill_fanout;
tl_options options_of_reduce; /* and the all-reduce that goes the same way */
tl_options options_of_allreduce_ring;
tl_options options_of_allreduce_hierarchical;

#endif
