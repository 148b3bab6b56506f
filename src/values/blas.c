/* The library is loaded when the first values are to be computed: a run without --verify pays
 * neither its start nor its threads (docs/adr/0017). */
#include "values/blas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "support/room.h"

/* The one found at configuration, then what a machine without the development files has. */
static const char *const libraries[] = {AHBM_BLAS_LIBRARY, "libopenblas.so.0", "libcblas.so.3",
                                        "libblas.so.3"};

static __typeof__(cblas_sgemm) *sgemm;

bool blas_start(struct error *err)
{
    if (sgemm != NULL)
        return true;
    struct room room = room_of_process();
    if (room.bytes < BLAS_ADDRESS_BYTES)
        return error_set(err, ERROR_FAILED, "--verify: BLAS needs %llu MiB, and %s leaves %llu MiB",
                         (unsigned long long)BLAS_ADDRESS_BYTES >> 20, room.what,
                         (unsigned long long)room.bytes >> 20);
    /* OpenBLAS looks at it as it is loaded. A rank computes on one processor. */
    const char *threads = getenv("OPENBLAS_NUM_THREADS");
    if (threads == NULL || strcmp(threads, "1") != 0)
        setenv("OPENBLAS_NUM_THREADS", "1", 1);
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0] && sgemm == NULL; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL)
            *(void **)&sgemm = dlsym(library, "cblas_sgemm");
    }
    return sgemm != NULL ||
           error_set(err, ERROR_FAILED, "--verify: no BLAS can be loaded: %s", dlerror());
}

void blas_gemm(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float *c)
{
    sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1.0f, a, (int)k, b,
          (int)n, 0.0f, c, (int)n);
}
