/* The one place that knows BLAS. */
#ifndef AHBM_VALUES_BLAS_H
#define AHBM_VALUES_BLAS_H

#include <stdint.h>

/* Keeps BLAS on one thread per process, where the library has a call for it. */
void blas_start(void);

/* c[m, n] = a[m, k] . b[k, n], row-major f32. */
void blas_gemm(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float *c);

#endif
