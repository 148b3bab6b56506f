/* Condenses what all CUBEs measured into a point's summary, on every process. */
#ifndef AHBM_STUDY_SUMMARY_H
#define AHBM_STUDY_SUMMARY_H

#include "study/point.h"
#include "study/study.h"

/* Collective. `group_latency_ps` has room for problem->groups values. The summary and the latencies
 * are the same on all processes. */
void summary_make(const struct point *point, const struct measurement *measurement,
                  struct point_summary *summary, uint64_t *group_latency_ps);

#endif
