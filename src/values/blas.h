/* The one place that knows BLAS. */
#ifndef AHBM_VALUES_BLAS_H
#define AHBM_VALUES_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/error.h"

/* Addresses that OpenBLAS takes as it is loaded and used (measured): it waits for ever where it
 * cannot have them. */
#define BLAS_ADDRESS_BYTES (UINT64_C(176) << 20)

/* Loads the library, once, on one thread per process. False with `err` (ERROR_FAILED) when there is
 * none, or no room for it. */
bool blas_start(struct error *err);

/* c[m, n] = a[m, k] . b[k, n], row-major f32. After blas_start(). */
void blas_gemm(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float *c);

#endif
