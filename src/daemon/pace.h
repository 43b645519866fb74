/* How often each local user may start work under an office, or ask for a resignation: a burst at
 * once, then one after another at a steady rate. Without it a user of run-group could fill the log
 * with the turns of runs that do nothing. */
#ifndef ELECT_PACE_H
#define ELECT_PACE_H

#include "elect.h"

#include <sys/types.h>

#define PACE_PERIOD 50000 /* microseconds from one turn to the next, in the long run */
#define PACE_BURST  20    /* turns that may follow each other at once */
#define PACE_USERS  32    /* that are known at a time; the one that rested longest is forgotten */

struct pace {
    struct pace_user {
        uid_t user;
        elect_time spent; /* when all that it took is paid back */
    } user[PACE_USERS];
};

/* When this user, who may have so many bursts at once, may act again: now, or later. */
elect_time pace_next(const struct pace *p, uid_t user, unsigned bursts, elect_time now);
/* It acts now; `cost`: like so many turns. */
void pace_take(struct pace *p, uid_t user, unsigned cost, elect_time now);

#endif
