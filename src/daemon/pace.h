/* Limits how often each local user may start work under an office, or cause a resignation. Each
 * user may take a burst of turns, and after that one turn after another at a steady rate. A
 * resignation costs as many turns as a burst has, and its cost doubles each time that the user soon
 * causes another resignation. Without a limit, a user of run-group could fill the log and push out
 * the history, either with runs that do nothing or by moving the office from member to member as
 * fast as the members can take it over. */
#ifndef ELECT_DAEMON_PACE_H
#define ELECT_DAEMON_PACE_H

#include "elect.h"

#include <sys/types.h>

#define PACE_PERIOD  50000      /* microseconds from one turn to the next, in the long run */
#define PACE_BURST   20         /* turns without a pause between them */
#define PACE_USERS   32         /* users in the table; a new user replaces the one idle longest */
#define PACE_RESIGN  PACE_BURST /* turns that the first resignation costs (one second) */
#define PACE_FAILURE 4          /* turns that a failure without a hand-over costs */
#define PACE_DOUBLE  5          /* how often PACE_RESIGN is doubled at most: up to 32 seconds */
#define PACE_CALM    60000000   /* microseconds without a resignation after which doubling ends */

struct pace {
    struct pace_user {
        uid_t user;
        elect_time spent;    /* when the user's bucket is full again */
        elect_time resigned; /* when the user last caused a resignation */
        uint8_t doubled;     /* how often the cost of a resignation was doubled */
    } user[PACE_USERS];
};

/* The back-off of a member in a group: after each failed run, the member waits before it starts the
 * next run, twice as long each time. A run that lasted PACE_RAN_WELL ends the sequence. */
#define PACE_FAILED   1000000  /* microseconds after the first failure */
#define PACE_LONGEST  60000000 /* the longest back-off, in microseconds */
#define PACE_RAN_WELL 60000000

struct pace_failures {
    unsigned count;   /* failed runs in a row */
    elect_time until; /* the member starts no run before this time */
};

/* Counts the failure of a run that lasted `lasted`. Returns how long the member backs off. */
elect_time pace_fail(struct pace_failures *f, elect_time lasted, elect_time now);

/* Returns the time from which this user may act again; it is not earlier than `now`. The user may
 * take `bursts` bursts in a row. */
elect_time pace_next(const struct pace *p, uid_t user, unsigned bursts, elect_time now);
/* Charges this user for `turns` turns. */
void pace_take(struct pace *p, uid_t user, unsigned turns, elect_time now);
/* Counts a resignation that this user causes. Returns how many turns in the queue the user loses
 * for it; the caller charges them. */
unsigned pace_resign(struct pace *p, uid_t user, elect_time now);

#endif
