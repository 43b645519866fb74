/* A timer on the clock of leases, in a libuv loop (whose own are MONOTONIC, in milliseconds). */
#ifndef ELECT_RUNTIME_ALARM_H
#define ELECT_RUNTIME_ALARM_H

#include "elect-uv.h"

struct alarm {
    uv_poll_t poll;
    bool open;
    int fd;
    elect_time set; /* ELECT_UNSET: it will not ring */
    void (*ring)(void *context);
    void (*broken)(void *context, int error);
    void *context;
};

/* 0, or an errno; ring, broken and context are filled in. */
int alarm_open(struct alarm *c, uv_loop_t *loop);
void alarm_set(struct alarm *c, elect_time when);
void alarm_close(struct alarm *c, uv_close_cb closed); /* its handle's data: the context */

#endif
