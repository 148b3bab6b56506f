/* The static checks: each stops the recording with an error unless what it names holds. `name` is
 * the tensor's in the call under way. */
#ifndef AHBM_TL_CHECK_H
#define AHBM_TL_CHECK_H

#include "tl/state.h"

/* At least one element, a known type, a size that fits. */
void tl_check_shape(struct tl *tl, const char *name, uint32_t rows, uint32_t cols, unsigned dtype);

/* A tensor that may be used: made by a function of tl.h, not recycled, within its memory. */
void tl_check_live(struct tl *tl, const char *name, const struct tl_tensor *tensor);

/* The same, and in scratch, or in HBM. */
void tl_check_scratch(struct tl *tl, const char *name, const struct tl_tensor *tensor);
void tl_check_hbm(struct tl *tl, const char *name, const struct tl_tensor *tensor);

/* As tl_check_scratch(), and f32. */
void tl_check_f32(struct tl *tl, const char *name, const struct tl_tensor *tensor);

/* Exactly this shape. */
void tl_check_size(struct tl *tl, const char *name, const struct tl_tensor *tensor, uint32_t rows,
                   uint32_t cols);

/* 1 or `rows` rows, 1 or `cols` columns. */
void tl_check_stretches(struct tl *tl, const char *name, const struct tl_tensor *tensor,
                        uint32_t rows, uint32_t cols);

void tl_check_same_type(struct tl *tl, const char *name, const struct tl_tensor *tensor,
                        const char *other_name, const struct tl_tensor *other);

/* No byte in common. */
void tl_check_apart(struct tl *tl, const char *name, const struct tl_tensor *tensor,
                    const char *other_name, const struct tl_tensor *other);

/* No byte in common, or the very same tensor. */
void tl_check_alias(struct tl *tl, const char *name, const struct tl_tensor *tensor,
                    const char *other_name, const struct tl_tensor *other);

/* The queue leads to a neighbour. */
void tl_check_queue(struct tl *tl, enum tl_queue queue);

#endif
