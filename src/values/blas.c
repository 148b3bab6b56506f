#include "values/blas.h"

#include <cblas.h>
#include <stddef.h>

/* OpenBLAS has it, other libraries do not. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));

void blas_start(void)
{
    if (openblas_set_num_threads != NULL)
        openblas_set_num_threads(1);
}

void blas_gemm(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float *c)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1.0f, a, (int)k,
                b, (int)n, 0.0f, c, (int)n);
}
