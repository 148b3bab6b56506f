/* The options: names, values, help. */
#ifndef AHBM_CLI_OPTIONS_TABLE_H
#define AHBM_CLI_OPTIONS_TABLE_H

#include <argp.h>
#include <stdint.h>

enum { KEY_SHORT_HELP = 'h', KEY_SHORT_VERSION = 'V' };

enum key {
    KEY_CASE = 256,
    KEY_PHASE,
    KEY_CONTEXT,
    KEY_KERNEL,
    KEY_BATCH,
    KEY_QUERY_LEN,
    KEY_MESSAGE,
    KEY_REQUESTS,
    KEY_CONFIG,
    KEY_SET,
    KEY_OWN,
    KEY_CUBES,
    KEY_SEED,
    KEY_TENSORS,
    KEY_OUTPUT,
    KEY_TRACE,
    KEY_TRANSPORT,
    KEY_LOOKAHEAD,
    KEY_RECORD_AHEAD,
    KEY_FORMAT,
    KEY_VERIFY,
    KEY_WRITE_OUTPUT,
    KEY_STATS,
    KEY_PROGRESS,
    KEY_QUIET,
    KEY_DRY_RUN,
    KEY_LIST_KERNELS,
    KEY_LIST_RESULTS,
    KEY_PRINT_CONFIG,
    KEY_KERNEL_OPTION = 1024, /* + enum tl_option_number: those of ahbm/options.h */
};

/* The bit of enum tl_option that stands for an option; 0 for one that is no kernel's matter. */
uint32_t options_table_bit(int key);

/* Ended by an empty entry. */
const struct argp_option *options_table(void);

#endif
