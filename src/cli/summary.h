/* The summary on standard output. */
#ifndef AHBM_CLI_SUMMARY_H
#define AHBM_CLI_SUMMARY_H

#include <stdio.h>

#include "cli/options.h"
#include "study/study.h"

void summary_print_table(const struct study_report *report, uint32_t ranks, bool stats, FILE *out);
void summary_print_json(const struct study_report *report, uint32_t ranks, FILE *out);

#endif
