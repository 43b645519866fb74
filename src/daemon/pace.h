/* How often each local user may start work under an office, or make it resign: a burst at once,
 * then one turn after another at a steady rate. A resignation costs as many turns as a burst has,
 * and twice as many each time that the user makes it resign again soon. Without that a user of
 * run-group could fill the log and replace the history, with runs that do nothing, or by moving
 * the office from member to member as fast as they can take it. */
#ifndef ELECT_DAEMON_PACE_H
#define ELECT_DAEMON_PACE_H

#include "elect.h"

#include <sys/types.h>

#define PACE_PERIOD  50000 /* microseconds from one turn to the next, in the long run */
#define PACE_BURST   20    /* turns that may follow each other at once */
#define PACE_USERS   32    /* that are known at a time; the one that rested longest is forgotten */
#define PACE_RESIGN  PACE_BURST /* turns that a resignation costs at first: one second */
#define PACE_FAILURE 4          /* turns that a failure costs which moves no office */
#define PACE_DOUBLE  5          /* how often that is doubled: up to 32 seconds */
#define PACE_CALM    60000000   /* microseconds without a resignation: then they cost that again */

struct pace {
    struct pace_user {
        uid_t user;
        elect_time spent;    /* when all that it took is paid back */
        elect_time resigned; /* when it last did; and how often the cost was doubled */
        uint8_t doubled;
    } user[PACE_USERS];
};

/* The back-off of a member in a group: after each failed run it waits before it starts the next
 * one, twice as long each time. A run that lasted PACE_RAN_WELL ends the sequence. */
#define PACE_FAILED   1000000  /* microseconds after the first failure */
#define PACE_LONGEST  60000000 /* at most */
#define PACE_RAN_WELL 60000000

struct pace_failures {
    unsigned count;   /* in a row */
    elect_time until; /* nothing starts before this */
};

/* A run that lasted so long has failed. Returns how long the member backs off. */
elect_time pace_fail(struct pace_failures *f, elect_time lasted, elect_time now);

/* Returns when this user, who may take `bursts` bursts at once, may act again: now, or later. */
elect_time pace_next(const struct pace *p, uid_t user, unsigned bursts, elect_time now);
/* This user takes so many turns now. */
void pace_take(struct pace *p, uid_t user, unsigned turns, elect_time now);
/* Returns how many turns it costs that this user makes the office resign now: to be taken at
 * once. */
unsigned pace_resign(struct pace *p, uid_t user, elect_time now);

#endif
