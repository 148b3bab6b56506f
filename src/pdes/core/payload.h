/* The payloads of an LP's pending events: a table of buffers that are used again. Internal to pdes.
 */
#ifndef AHBM_PDES_PAYLOAD_H
#define AHBM_PDES_PAYLOAD_H

#include "pdes/core/lp.h"

/* The handle of a buffer of `bytes`; it is lp->payloads[handle - 1]. */
uint16_t payload_new(struct lp *lp, uint32_t bytes);

/* payload_new() with a copy of `data`. */
uint16_t payload_store(struct lp *lp, const void *data, uint32_t bytes);

void payload_free_all(struct lp *lp);

#endif
