/* Looks into a file of tensors in a process of its own: HDF5 may crash on a damaged file, run for
 * ever, or decode a few bytes to more than there is memory. */
#ifndef AHBM_TENSORS_PROBE_H
#define AHBM_TENSORS_PROBE_H

#include "support/error.h"

/* Whether the file can be opened and decoded within limits of memory and time; otherwise
 * ERROR_USAGE. After it the file may be opened here. To be called before MPI starts: it forks. */
bool tensors_probe(const char *path, struct error *err);

#endif
