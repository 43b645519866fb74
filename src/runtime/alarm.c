/* The alarm: a timerfd on CLOCK_BOOTTIME, polled by libuv. */
#include "alarm.h"

#include "../base/clock.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000

elect_time elect_uv_now(void) { return boottime_now(); }

static void arm(const struct alarm *c, const struct itimerspec *spec)
{
    timerfd_settime(c->fd, TFD_TIMER_ABSTIME, spec, NULL);
}

/* Counts a stall if the alarm is late by more than its patience. alarm_set() calls this, too,
 * because after a stall the loop may handle packets first and move the alarm before it rings. */
static void note_stall(struct alarm *c, elect_time now)
{
    elect_time late = now - c->due;
    if (c->set == ELECT_UNSET || c->patience == 0 || late <= c->patience)
        return;
    c->stalls.count++;
    c->stalls.longest = late > c->stalls.longest ? late : c->stalls.longest;
    c->stalls.last = now;
}

/* The timerfd need not be read, because setting it clears its expirations. ring() usually sets the
 * alarm again; if not, the timerfd is disarmed here. */
static void rings(uv_poll_t *poll, int status, int events)
{
    static const struct itimerspec never;
    struct alarm *c = poll->data;
    (void)events;
    if (status < 0) {
        c->broken(c->context, -status);
        return;
    }
    elect_time now = elect_uv_now();
    if (c->set == ELECT_UNSET || c->set > now)
        return;
    note_stall(c, now);
    c->set = ELECT_UNSET;
    c->ring(c->context);
    if (c->set == ELECT_UNSET)
        arm(c, &never);
}

int alarm_open(struct alarm *c, uv_loop_t *loop)
{
    c->fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    c->set = ELECT_UNSET;
    if (c->fd < 0)
        return errno;
    int error = uv_poll_init(loop, &c->poll, c->fd);
    c->open = error == 0;
    c->poll.data = c;
    return error == 0 ? -uv_poll_start(&c->poll, UV_READABLE, rings) : -error;
}

/* A time in the past makes the alarm ring at once. Setting the same time again costs no system
 * call. */
void alarm_set(struct alarm *c, elect_time when)
{
    elect_time at = when > 0 ? when : 1;
    struct itimerspec spec = {.it_value = {.tv_sec = at / SECOND, .tv_nsec = at % SECOND * 1000}};
    if (when == c->set)
        return;
    elect_time now = elect_uv_now();
    note_stall(c, now);
    c->set = when;
    c->due = when > now ? when : now;
    if (when == ELECT_UNSET)
        spec = (struct itimerspec){0};
    arm(c, &spec);
}

void alarm_close(struct alarm *c, uv_close_cb closed)
{
    if (c->open) {
        uv_poll_stop(&c->poll);
        c->poll.data = c->context;
        uv_close((uv_handle_t *)&c->poll, closed);
    }
    if (c->fd >= 0)
        close(c->fd);
    c->open = false;
    c->fd = -1;
}
