/* Limits how often each local user may start work on the leader, or make it resign. Each start
 * costs one turn. A user may take a burst of turns at once, and then turns at a steady rate. A
 * resignation costs a whole burst, and twice as much each time if another one follows soon.
 * Otherwise a user of run-group could fill the log and push out the history: with runs that do
 * nothing, or by moving leadership as fast as the members can take it over. */
#ifndef ELECT_DAEMON_PACE_H
#define ELECT_DAEMON_PACE_H

#include "elect.h"

#include <sys/types.h>

#define PACE_PERIOD  50000 /* microseconds per turn */
#define PACE_BURST   20    /* turns */
#define PACE_USERS   32
#define PACE_RESIGN  PACE_BURST /* one second's worth of turns */
#define PACE_FAILURE 4          /* turns of a failure without a hand-over */
#define PACE_DOUBLE  5          /* maximum number of doublings: up to 32 seconds */
#define PACE_CALM    60000000   /* microseconds until a resignation no longer counts */

struct pace {
    struct pace_user {
        uid_t user;
        elect_time spent; /* when a full burst is available again */
        elect_time resigned;
        uint8_t doubled;
    } user[PACE_USERS];
};

/* Back-off of a member in a group: each failed run doubles the wait before the next run. A run that
 * lasted for PACE_RAN_WELL resets it. All times are in microseconds. */
#define PACE_FAILED   1000000
#define PACE_LONGEST  60000000
#define PACE_RAN_WELL 60000000

struct pace_failures {
    unsigned count;   /* in a row */
    elect_time until; /* no run starts earlier */
};

/* Counts the failure of a run that lasted for `lasted` microseconds. Returns the wait before the
 * next run, in microseconds. */
elect_time pace_fail(struct pace_failures *f, elect_time lasted, elect_time now);

/* Returns the earliest time, from `now` on, when the user may take a turn. `bursts` is the number
 * of bursts that the user may take in a row. */
elect_time pace_next(const struct pace *p, uid_t user, unsigned bursts, elect_time now);
void pace_take(struct pace *p, uid_t user, unsigned turns, elect_time now);
/* Counts a resignation caused by this user. Returns its cost in turns, which the caller must take
 * with pace_take(). */
unsigned pace_resign(struct pace *p, uid_t user, elect_time now);

#endif
