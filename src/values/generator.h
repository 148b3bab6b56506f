/* Inputs without a file: each element is a function of (seed, tensor, request, head, token, dim),
 * so that any PE of any process can make any part, and equal for every placement and rank count.
 *
 * An element is nearly normal with mean 0 and variance 1 (the sum of four uniform 16-bit fields of
 * one 64-bit hash, scaled), rounded to bf16. Integers, one exact conversion and one product make
 * it: it does not depend on the processor. */
#ifndef AHBM_VALUES_GENERATOR_H
#define AHBM_VALUES_GENERATOR_H

#include "values/source.h"

/* Ended by value_source_free(). */
struct value_source *generator_new(uint64_t seed, uint32_t dim);

#endif
