#include "values/measure.h"

#include <math.h>

void measure_add(struct measure *measure, const float *output, const double *reference,
                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double error = fabs((double)output[i] - reference[i]);
        measure->no_number |= !isfinite(error);
        measure->error_squares += error * error;
        measure->reference_squares += reference[i] * reference[i];
        measure->max_abs = fmax(measure->max_abs, error);
        measure->max_reference = fmax(measure->max_reference, fabs(reference[i]));
    }
    measure->elements += count;
}

double measure_rms_relative(const struct measure *measure)
{
    if (measure->no_number)
        return INFINITY;
    if (measure->error_squares == 0)
        return 0;
    return sqrt(measure->error_squares / measure->reference_squares);
}

double measure_max_abs(const struct measure *measure)
{
    return measure->no_number ? INFINITY : measure->max_abs;
}

bool measure_passes(const struct measure *measure)
{
    return measure->elements > 0 && measure_rms_relative(measure) <= MEASURE_RMS_TOLERANCE &&
           measure_max_abs(measure) <= MEASURE_MAX_TOLERANCE * measure->max_reference;
}
