/* Options that a kernel brings itself, given by --kernel-option NAME=VALUE (ahbm/options.h). */
#ifndef AHBM_STUDY_OWN_OPTIONS_H
#define AHBM_STUDY_OWN_OPTIONS_H

#include "study/options.h"
#include "support/error.h"

/* Fills the values of `kernel`, in the order of its rows: the defaults, changed by options->own as
 * far as it has these names; of a name given twice the last counts. False with ERROR_USAGE, which
 * says what is allowed, when a value is not. */
bool own_values(const struct tl_kernel_info *kernel, const struct study_options *options,
                uint64_t values[TL_OWN_OPTIONS], struct error *err);

/* Whether some kernel that is to run has each name of options->own; otherwise ERROR_USAGE that
 * lists the names that there are. All kernels must resolve (kernel_resolve()). */
bool own_names(const struct study_options *options, struct error *err);

#endif
