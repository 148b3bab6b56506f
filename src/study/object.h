/* A user's kernel as a file: a shared object that is opened for good. */
#ifndef AHBM_STUDY_OBJECT_H
#define AHBM_STUDY_OBJECT_H

#include <ahbm/kernel.h>

#include "support/error.h"

/* Its `ahbm_kernel`, which stays to the end of the program; a name without a folder is a file of
 * the working folder. NULL with ERROR_USAGE when there is none that this program can run. An object
 * that ends before its contents do is refused: the loader would end the process. */
const struct tl_kernel_info *object_load(const char *name, struct error *err);

#endif
