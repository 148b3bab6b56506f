/* Standard output and standard error. */
#ifndef AHBM_CLI_OUTPUT_H
#define AHBM_CLI_OUTPUT_H

#include <signal.h>
#include <stdbool.h>

#include "support/error.h"

/* What a shell shows for a program that a SIGPIPE ended. */
enum { OUTPUT_READER_LEFT = 128 + SIGPIPE };

/* To be called before any file is opened: descriptors 0 to 2 that are closed are occupied, so that
 * no file gets their number; writing to one of them fails as before. A write to a pipe without a
 * reader fails, too, instead of ending the process. */
void output_prepare(void);

/* Ends standard output. 0; or, with `err`, ERROR_FAILED when a part of what was printed is lost, or
 * OUTPUT_READER_LEFT when that is because nobody reads it any more. */
int output_close(struct error *err);

/* "ahbm-pdes: error: TEXT" on standard error, one line whatever the text is. */
void output_error(const char *text);

#endif
