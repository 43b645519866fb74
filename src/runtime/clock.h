/* The clock of leases: CLOCK_BOOTTIME in microseconds, which goes on while the machine sleeps; and
 * a timer on it in a libuv loop (whose own are MONOTONIC, in milliseconds). */
#ifndef ELECT_CLOCK_H
#define ELECT_CLOCK_H

#include "elect.h"

#include <uv.h>

struct alarm_clock {
    uv_poll_t poll;
    bool open;
    int fd;
    elect_time set; /* ELECT_UNSET: it will not ring */
    void (*ring)(void *context);
    void *context;
};

elect_time clock_now(void);

/* 0, or an errno. */
int clock_open(struct alarm_clock *c, uv_loop_t *loop, void (*ring)(void *context), void *context);
void clock_set(struct alarm_clock *c, elect_time when);
void clock_close(struct alarm_clock *c, uv_close_cb closed); /* its handle's data: the context */

#endif
