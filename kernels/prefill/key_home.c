#include "kernels/prefill/key_home.h"

#include <ahbm/kit/homes.h>

enum { BF16_BYTES = 2 };

uint64_t key_home_addr(const struct tl_launch *launch, uint64_t base, uint32_t pe, uint32_t request,
                       uint64_t slot)
{
    return kit_homes_kv(launch, base, pe, request) +
           slot * launch->tile * launch->head_dim * BF16_BYTES;
}

struct kv key_home(struct tl *tl, const struct tl_launch *launch, uint32_t pe, uint32_t request,
                   uint64_t slot, uint32_t width)
{
    uint64_t k = key_home_addr(launch, launch->k_base, pe, request, slot);
    uint64_t v = key_home_addr(launch, launch->v_base, pe, request, slot);
    return (struct kv){kit_homes_ref(tl, launch, pe, k, launch->head_dim, width),
                       kit_homes_ref(tl, launch, pe, v, width, launch->head_dim)};
}
