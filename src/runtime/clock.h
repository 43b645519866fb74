/* A timer on the clock of leases, in a libuv loop (whose own are MONOTONIC, in milliseconds). */
#ifndef ELECT_CLOCK_H
#define ELECT_CLOCK_H

#include "elect-uv.h"

struct alarm_clock {
    uv_poll_t poll;
    bool open;
    int fd;
    elect_time set; /* ELECT_UNSET: it will not ring */
    void (*ring)(void *context);
    void (*broken)(void *context, int error);
    void *context;
};

/* 0, or an errno; ring, broken and context are filled in. */
int clock_open(struct alarm_clock *c, uv_loop_t *loop);
void clock_set(struct alarm_clock *c, elect_time when);
void clock_close(struct alarm_clock *c, uv_close_cb closed); /* its handle's data: the context */

#endif
