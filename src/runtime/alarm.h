/* A timer in a libuv loop. It uses CLOCK_BOOTTIME, by which leases are measured, and counts
 * microseconds. The timers of libuv itself use CLOCK_MONOTONIC and milliseconds. */
#ifndef ELECT_RUNTIME_ALARM_H
#define ELECT_RUNTIME_ALARM_H

#include "elect-uv.h"

struct alarm {
    uv_poll_t poll;
    bool open;
    int fd;
    elect_time set; /* when the alarm rings; ELECT_UNSET: it is not set */
    elect_time due; /* when the alarm is due: `set`, or the time of alarm_set() if that was later */
    /* If the alarm rings more than `patience` after `due`, a stall is counted. 0 means never. */
    elect_time patience;
    struct elect_stalls stalls;
    void (*ring)(void *context);
    void (*broken)(void *context, int error);
    void *context;
};

/* Returns 0 or an errno. The caller must have set `ring`, `broken` and `context`. */
int alarm_open(struct alarm *c, uv_loop_t *loop);
void alarm_set(struct alarm *c, elect_time when);
/* Closes the alarm. libuv then calls `closed` with a handle whose `data` is the context. */
void alarm_close(struct alarm *c, uv_close_cb closed);

#endif
