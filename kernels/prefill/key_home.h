/* Where a prefill's tiles of K and V lie in HBM. */
#ifndef AHBM_KERNELS_PREFILL_KEY_HOME_H
#define AHBM_KERNELS_PREFILL_KEY_HOME_H

#include <ahbm/tl.h>

struct kv {
    struct tl_tensor k, v; /* [dim, width], [width, dim] bf16 */
};

/* The address of tile `slot` of PE `pe` and a request, from launch->k_base or v_base. */
uint64_t key_home_addr(const struct tl_launch *launch, uint64_t base, uint32_t pe, uint32_t request,
                       uint64_t slot);

/* Its first `width` tokens. */
struct kv key_home(struct tl *tl, const struct tl_launch *launch, uint32_t pe, uint32_t request,
                   uint64_t slot, uint32_t width);

#endif
