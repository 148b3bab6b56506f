#include "machine/digest.h"

#include <string.h>

#include "machine/part.h"
#include "support/error.h"
#include "support/hash.h"

/* In the order in which the digest has always taken them, so that files of different versions can
 * be compared. A new column is left out: the events, which the digest covers, determine it. */
static const char *const covered[DIGEST_COLUMNS] = {
    "commands",       "busy_ps",         "read_bytes",       "write_bytes",
    "requests",       "sent_bytes",      "received_bytes",   "fragments",
    "gemm_steps",     "useful_macs",     "commands_taken",   "op_commands",
    "op_time_ps",     "op_wait_ps",      "slots_high_water", "scratch_high_water_bytes",
    "first_issue_ps", "last_store_ps",   "last_end_ps",      "hbm_busy_ps",
    "hbm_read_bytes", "hbm_write_bytes", "pe_link_busy_ps",  "pe_link_bytes",
};

static const struct column *find(const char *name)
{
    const struct column *column;
    for (size_t i = 0; (column = machine_column(i)) != NULL; i++)
        if (strcmp(column->name, name) == 0)
            return column;
    error_bug("the digest covers a column %s that no part has", name);
}

struct digest_plan digest_plan(void)
{
    struct digest_plan plan;
    for (uint32_t i = 0; i < DIGEST_COLUMNS; i++) {
        const struct column *column = find(covered[i]);
        plan.offset[i] = column->offset / sizeof(uint64_t);
        plan.width[i] = column->width;
    }
    return plan;
}

static uint64_t add(const struct digest_plan *plan, uint64_t digest, const uint64_t *words)
{
    for (uint32_t i = 0; i < DIGEST_COLUMNS; i++)
        for (uint32_t k = 0; k < plan->width[i]; k++)
            digest = hash_word(digest, words[plan->offset[i] + k]);
    return digest;
}

uint64_t digest_results(const struct digest_plan *plan, uint64_t digest,
                        const struct pe_result *results, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        digest = add(plan, digest, (const uint64_t *)&results[i]);
    return digest;
}
