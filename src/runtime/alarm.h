/* A timer in a libuv loop, on CLOCK_BOOTTIME (like the leases) and in microseconds. libuv's own
 * timers use CLOCK_MONOTONIC and milliseconds. */
#ifndef ELECT_RUNTIME_ALARM_H
#define ELECT_RUNTIME_ALARM_H

#include "elect-uv.h"

struct alarm {
    uv_poll_t poll;
    bool open;
    int fd;
    elect_time set;      /* ELECT_UNSET if not set */
    elect_time due;      /* `set`, or the time of the alarm_set() call if that was later */
    elect_time patience; /* longest delay after `due` that is not a stall; 0: count no stalls */
    struct elect_stalls stalls;
    void (*ring)(void *context);
    void (*broken)(void *context, int error);
    void *context;
};

/* Returns 0 or an errno. The caller must first set `ring`, `broken` and `context`. */
int alarm_open(struct alarm *c, uv_loop_t *loop);
void alarm_set(struct alarm *c, elect_time when);
/* libuv later calls `closed` with a handle whose `data` is the alarm's context. */
void alarm_close(struct alarm *c, uv_close_cb closed);

#endif
