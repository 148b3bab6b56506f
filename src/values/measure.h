/* How far an output is from the reference, and whether that is within tolerance.
 *
 * With u = 2^-8, the unit roundoff of bf16, an attention that rounds P and O to bf16 and is exact
 * elsewhere has a relative RMS error of about 0.6 u; the tolerance is 2 u. The largest error may be
 * 4 u times the largest |reference|: rounding O there takes up to u, rounding P the rest
 * (docs/verification.md). */
#ifndef AHBM_VALUES_MEASURE_H
#define AHBM_VALUES_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEASURE_RMS_TOLERANCE 0x1p-7
#define MEASURE_MAX_TOLERANCE 0x1p-6

/* Begins zeroed. Sums run in the order of the calls. */
struct measure {
    double error_squares, reference_squares;
    double max_abs, max_reference;
    bool no_number; /* an output is none */
    uint64_t elements;
};

void measure_add(struct measure *measure, const float *output, const double *reference,
                 size_t count);

/* RMS of the error over that of the reference; infinite when an output is no number. */
double measure_rms_relative(const struct measure *measure);

/* The largest |output - reference|; infinite when an output is no number. */
double measure_max_abs(const struct measure *measure);

bool measure_passes(const struct measure *measure);

#endif
