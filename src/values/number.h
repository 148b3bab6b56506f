/* The element types of tensors: f32, bf16 and f16 (IEEE binary16), with round-to-nearest-even. A
 * NaN becomes the quiet one, so that memory never written (all bits one) is told from a NaN that
 * was computed. */
#ifndef AHBM_VALUES_NUMBER_H
#define AHBM_VALUES_NUMBER_H

#include <stddef.h>

#include "prog/op.h"
#include "support/bf16.h"

float f32_of_f16(uint16_t bits);
uint16_t f16_of_f32(float value);

/* `count` elements of `dtype`, at any address, to or from f32. */
void number_unpack(enum dtype dtype, const void *from, float *to, size_t count);
void number_pack(enum dtype dtype, const float *from, void *to, size_t count);

#endif
