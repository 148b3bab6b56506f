/* Compares what the kernels stored with exact attention. */
#ifndef AHBM_STUDY_VERIFY_H
#define AHBM_STUDY_VERIFY_H

#include "results/results.h"
#include "study/point.h"

struct verify_result {
    bool passed;
    double rms_relative; /* RMS error over the RMS of the reference; inf: no number */
    double max_abs;      /* largest absolute error; inf: no number */
    uint64_t missing;    /* rows of O that no PE stored, */
    uint64_t repeated;   /* and rows that several stored */
    uint64_t digest;     /* of all bits of O, in the order [group, request, head, position, dim] */
};

/* After a run that is done, of a point with values. `output` NULL: O is not written to the results.
 * The result is the same on all processes, whatever their number. False with `err` when inputs
 * could not be read or O not be written; a wrong O is not an error. Collective. */
/* Bytes of memory that it takes of the process that takes the most, of `ranks`. */
uint64_t verify_memory(const struct problem *problem, uint32_t ranks);

bool verify_point(const struct point *point, struct results *output, struct verify_result *result,
                  struct error *err);

#endif
