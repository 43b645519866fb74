/* Limits how often each local user may start work on the leader, or make the leader resign. Each
 * start costs the user one turn. A user may take a number of turns at once (a burst), and further
 * turns at a steady rate. A resignation costs as many turns as a burst has, and the cost doubles
 * each time that the user causes another resignation soon afterwards. Without a limit, a user of
 * run-group could fill the log and push out the history, either with runs that do nothing or by
 * moving leadership from member to member as fast as the members can take it over. */
#ifndef ELECT_DAEMON_PACE_H
#define ELECT_DAEMON_PACE_H

#include "elect.h"

#include <sys/types.h>

#define PACE_PERIOD  50000      /* microseconds until a user gets another turn */
#define PACE_BURST   20         /* how many turns a user may take at once */
#define PACE_USERS   32         /* how many users the table has room for */
#define PACE_RESIGN  PACE_BURST /* turns (one second) that the first resignation costs */
#define PACE_FAILURE 4          /* turns that a failure costs if the leader need not hand over */
#define PACE_DOUBLE  5          /* how many times the cost may double: up to 32 seconds */
#define PACE_CALM    60000000   /* microseconds after which a resignation no longer counts */

struct pace {
    struct pace_user {
        uid_t user;
        elect_time spent;    /* when the user may take a full burst again */
        elect_time resigned; /* when the user last caused a resignation */
        uint8_t doubled;     /* how many times the cost of a resignation has been doubled */
    } user[PACE_USERS];
};

/* The back-off of a member in a group: after each failed run, the member waits before it starts the
 * next run, and each wait is twice as long as the previous one. After a run that lasted for
 * PACE_RAN_WELL microseconds, the waits begin anew. */
#define PACE_FAILED   1000000  /* the back-off after the first failure, in microseconds */
#define PACE_LONGEST  60000000 /* the longest back-off, in microseconds */
#define PACE_RAN_WELL 60000000

struct pace_failures {
    unsigned count;   /* failed runs in a row */
    elect_time until; /* the member starts no run before this time */
};

/* Counts the failure of a run that had lasted for `lasted` microseconds. Returns how long the
 * member must wait before it starts the next run. */
elect_time pace_fail(struct pace_failures *f, elect_time lasted, elect_time now);

/* Returns the earliest time, from `now` on, at which this user may take a turn. `bursts` is how
 * many bursts the user may take in a row. */
elect_time pace_next(const struct pace *p, uid_t user, unsigned bursts, elect_time now);
/* Takes `turns` turns from this user. */
void pace_take(struct pace *p, uid_t user, unsigned turns, elect_time now);
/* Counts a resignation that this user causes. Returns how many turns it costs; the caller must take
 * them with pace_take(). */
unsigned pace_resign(struct pace *p, uid_t user, elect_time now);

#endif
