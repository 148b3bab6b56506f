/* How a prefill describes itself: keys and queries as kernels/prefill/prefill_place.h deals them.
 */
#ifndef AHBM_KERNELS_PREFILL_LAYOUT_H
#define AHBM_KERNELS_PREFILL_LAYOUT_H

#include <ahbm/kernel.h>

/* All positions when none are given; the tile and the query block that fit into scratch. */
tl_choose prefill_choose;
tl_choose prefill_rotate_choose;
tl_choose prefill_fanout_choose; /* has buffers of its own number */

/* Lengths of their own, positions that cannot be counted, what does not fit into scratch, and
 * rings that post more receives than a queue pair accepts. */
tl_check prefill_check;
tl_check prefill_fanout_check; /* posts none beforehand */

tl_layout prefill_layout;

#endif
