/* Runs kernels for their errors alone: nothing is recorded, and one stack serves all. */
#ifndef AHBM_TL_REHEARSAL_H
#define AHBM_TL_REHEARSAL_H

#include "support/error.h"
#include "tl/record.h"

struct tl_rehearsal;

struct tl_rehearsal *tl_rehearsal_new(void);
void tl_rehearsal_free(struct tl_rehearsal *rehearsal);

/* Whether the kernel gets to its end, or through `most` (at least 1) commands, without an error;
 * otherwise ERROR_USAGE with the text that tl_program_new() would record. */
bool tl_rehearse(struct tl_rehearsal *rehearsal, const struct tl_program_config *config,
                 uint64_t most, struct error *err);

#endif
