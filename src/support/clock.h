/* Real time, in seconds; never simulated time. */
#ifndef AHBM_SUPPORT_CLOCK_H
#define AHBM_SUPPORT_CLOCK_H

#include <time.h>

/* Time on the wall, and of a processor. */
struct spent {
    double wall, processor;
};

static inline double clock_read(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* On the wall, from some fixed moment on. */
static inline double clock_wall(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

/* Of a processor, spent by this thread so far. */
static inline double clock_processor(void)
{
    return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

#endif
