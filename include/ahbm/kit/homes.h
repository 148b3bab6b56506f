/* Addresses, the same in all PEs: Q, O, K and V of each request, then states. K and V lie in the
 * PE's share, or with launch->kv_stack striped over all shares of its CUBE:
 *
 *   share 0    | Q, O | K, V of PE 0                    | S      kv_stack false
 *   share 1    | Q, O | K, V of PE 1                    | S
 *
 *   share 0    | Q, O | PE 0: stripe 0 | PE 1: 7 | ...  | S      kv_stack true, 8 PEs
 *   share 1    | Q, O | PE 0: stripe 1 | PE 1: 0 | ...  | S */
#ifndef AHBM_KIT_HOMES_H
#define AHBM_KIT_HOMES_H

#include <ahbm/tl.h>

/* Sets the addresses and strides of the launch for PEs that have up to `rows` query rows and
 * `tokens` tokens of K and V of a request. */
void kit_homes_choose(struct tl_launch *launch, uint64_t rows, uint64_t tokens);

/* For a vector of launch->message bytes and its sum, nothing else. */
void kit_homes_choose_message(struct tl_launch *launch);

/* Where PE `pe`'s K or V of a request begins, from launch->k_base or v_base: in its share, or in
 * the CUBE's stack, then in the PE's own share first. */
uint64_t kit_homes_kv(const struct tl_launch *launch, uint64_t base, uint32_t pe, uint32_t request);

/* bf16 of PE `pe`'s K or V at such an address, or some bytes behind. */
struct tl_tensor kit_homes_ref(struct tl *tl, const struct tl_launch *launch, uint32_t pe,
                               uint64_t addr, uint32_t rows, uint32_t cols);

#endif
