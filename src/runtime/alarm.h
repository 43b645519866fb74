/* A timer on the clock of leases in a libuv loop. The timers of libuv would not do: they use
 * CLOCK_MONOTONIC and milliseconds. */
#ifndef ELECT_RUNTIME_ALARM_H
#define ELECT_RUNTIME_ALARM_H

#include "elect-uv.h"

struct alarm {
    uv_poll_t poll;
    bool open;
    int fd;
    elect_time set;      /* ELECT_UNSET: it is not set */
    elect_time due;      /* the same, but not before the moment at which it was set */
    elect_time patience; /* a ring that is later than this shows that the process stood still */
    struct elect_stalls stalls;
    void (*ring)(void *context);
    void (*broken)(void *context, int error);
    void *context;
};

/* Returns 0 or an errno. The caller has filled in ring, broken and context. */
int alarm_open(struct alarm *c, uv_loop_t *loop);
void alarm_set(struct alarm *c, elect_time when);
/* The data of the handle that is closed is the context. */
void alarm_close(struct alarm *c, uv_close_cb closed);

#endif
