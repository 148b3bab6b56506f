/* Addresses within a share, the same in all PEs: Q, O, K and V of each request, then states. */
#ifndef AHBM_KIT_HOMES_H
#define AHBM_KIT_HOMES_H

#include <ahbm/launch.h>

/* Sets the addresses and strides of the launch for PEs that have up to `rows` query rows and
 * `tokens` tokens of K and V of a request. */
void kit_homes_choose(struct tl_launch *launch, uint64_t rows, uint64_t tokens);

/* For a vector of launch->message bytes and its sum, nothing else. */
void kit_homes_choose_message(struct tl_launch *launch);

#endif
