/* Standard output, which may be a full disk or a pipe that nobody reads. */
#ifndef AHBM_CLI_OUTPUT_H
#define AHBM_CLI_OUTPUT_H

#include <stdbool.h>

#include "support/error.h"

/* After the last word: whether all of them arrived; otherwise ERROR_FAILED. Nothing may be printed
 * after it. */
bool output_close(struct error *err);

#endif
