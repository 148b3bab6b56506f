/* Options that change nothing: a user who gave one believes in a result that is none. */
#ifndef AHBM_STUDY_EFFECT_H
#define AHBM_STUDY_EFFECT_H

#include "machine/params.h"
#include "study/options.h"
#include "support/error.h"

/* Whether some kernel in some case looks at each option of options->given; otherwise ERROR_USAGE
 * that names the option and the kernels. `options` must have passed plan_check(). */
bool effect_check(const struct machine_params *params, const struct study_options *options,
                  struct error *err);

#endif
