#include "study/options.h"

const char *reduce_name(enum tl_reduce reduce)
{
    static const char *const names[] = {"chain", "tree", "centre"};
    return names[reduce];
}

const char *form_name(enum tl_form form)
{
    static const char *const names[] = {"auto", "one-shot", "tiled", "softmax_merge"};
    return names[form];
}

const char *gemm_name(enum tl_gemm gemm)
{
    static const char *const names[] = {"composite", "dot"};
    return names[gemm];
}

const char *shards_name(enum tl_shards shards)
{
    static const char *const names[] = {"contiguous", "striped", "zigzag"};
    return names[shards];
}
