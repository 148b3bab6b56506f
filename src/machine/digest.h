/* The digest of what PEs measured. */
#ifndef AHBM_MACHINE_DIGEST_H
#define AHBM_MACHINE_DIGEST_H

#include <stdint.h>

#include "machine/result.h"

enum { DIGEST_COLUMNS = 24 };

/* Where the columns that the digest covers lie in struct pe_result. */
struct digest_plan {
    uint32_t offset[DIGEST_COLUMNS], width[DIGEST_COLUMNS];
};

struct digest_plan digest_plan(void);

/* `digest`, continued with `count` results. */
uint64_t digest_results(const struct digest_plan *plan, uint64_t digest,
                        const struct pe_result *results, uint32_t count);

#endif
