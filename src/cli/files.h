/* Files that the user names. */
#ifndef AHBM_CLI_FILES_H
#define AHBM_CLI_FILES_H

#include "cli/options.h"

/* Whether the output is another file than each that is read: otherwise ERROR_USAGE. Looks at the
 * file system. */
bool files_check(const struct options *options, struct error *err);

#endif
