/* Reads CLOCK_BOOTTIME and CLOCK_REALTIME, in microseconds. The functions are inline because the
 * client library consists of one source file. */
#ifndef ELECT_BASE_CLOCK_H
#define ELECT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_read(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Returns the time of the clock that measures leases. This clock keeps running while the machine is
 * suspended, and it cannot be set. */
static inline int64_t boottime_now(void) { return clock_read(CLOCK_BOOTTIME); }

/* Returns the time since 1970. Use this time only for display, because its clock may jump. */
static inline int64_t date_now(void) { return clock_read(CLOCK_REALTIME); }

#endif
