/* The summary on standard output. */
#ifndef AHBM_CLI_SUMMARY_H
#define AHBM_CLI_SUMMARY_H

#include <stdio.h>

#include "cli/options.h"
#include "study/study.h"

/* What the summary tells of the run's processes. */
struct summary_ranks {
    uint32_t ranks, cubes;
    uint32_t here, processors; /* ranks on this node, and processors for them */
};

void summary_print_table(const struct study_report *report, const struct summary_ranks *ranks,
                         bool stats, FILE *out);
void summary_print_json(const struct study_report *report, uint32_t ranks, FILE *out);

#endif
