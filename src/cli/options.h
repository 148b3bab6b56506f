/* The command line. */
#ifndef AHBM_CLI_OPTIONS_H
#define AHBM_CLI_OPTIONS_H

#include <stdio.h>

#include "study/options.h"
#include "support/error.h"

enum action {
    ACTION_RUN,
    ACTION_HELP,
    ACTION_VERSION,
    ACTION_LIST_KERNELS,
    ACTION_LIST_RESULTS,
    ACTION_PRINT_CONFIG,
    ACTION_DRY_RUN
};
enum summary_format { FORMAT_TABLE, FORMAT_JSON };

struct options {
    enum action action;
    struct study_options study;
    const char *config;       /* NULL: the default machine */
    const char *requests;     /* the file of --requests; NULL: none */
    bool context_given;       /* --context */
    const char **assignments; /* of --set, in order */
    uint32_t assignments_count;
    enum summary_format format;
    bool stats, progress, quiet;
    bool seed_given, format_given;
};

/* Parses argv; prints nothing. False with ERROR_USAGE, one line that names option, value and what
 * is allowed. options_fini() in any case. */
bool options_parse(struct options *options, int argc, char **argv, struct error *err);
void options_fini(struct options *options);

void options_print_help(FILE *out);

#endif
