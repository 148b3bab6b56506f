#include <inttypes.h>
#include <stdio.h>

#include "study/study.h"
#include "values/measure.h"

static const struct point_summary *first_wrong(const struct study_report *report)
{
    const struct point_summary *point = report->points;
    while (!point->verified || point->verify_passed)
        point++;
    return point;
}

static void describe(const struct point_summary *point, char text[160])
{
    if (point->output_missing + point->output_repeated > 0)
        snprintf(text, 160, "%" PRIu64 " rows of O were stored by no PE and %" PRIu64 " by several",
                 point->output_missing, point->output_repeated);
    else
        snprintf(text, 160,
                 "relative RMS error %.2e (allowed %.2e), largest error %.2e (allowed %.2e of the "
                 "largest value)",
                 point->verify_rms_relative, MEASURE_RMS_TOLERANCE, point->verify_max_abs,
                 MEASURE_MAX_TOLERANCE);
}

bool study_verdict(const struct study_report *report, struct error *err)
{
    char text[160];
    if (report->wrong == 0)
        return true;
    const struct point_summary *point = first_wrong(report);
    describe(point, text);
    return error_set(err, ERROR_FAILED,
                     "verification failed at %u of %u points, first at %s case %u, context %" PRIu64
                     ", batch %u, kernel %s: %s",
                     report->wrong, report->count, point->phase, point->case_number, point->context,
                     point->batch, point->kernel, text);
}
