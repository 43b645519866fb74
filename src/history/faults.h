/*
 * Infers from the flight recorders what happened to the members. A recorder shows what its member
 * did, not what happened to it. A member that starts again was down before, from the time of its
 * guardian's testament or from the time when others missed it. A member that was alive, but lost
 * its mandate or missed its leader for a while, was cut off or stood still.
 */
#ifndef ELECT_HISTORY_FAULTS_H
#define ELECT_HISTORY_FAULTS_H

#include "../model/world.h"
#include "collect.h"

#define HISTORY_FAULTS      512
#define HISTORY_MILLISECOND 1000 /* in microseconds, the unit of the recorders */

struct history_fault {
    int64_t at;
    int64_t lasts;      /* of a stall */
    struct fault fault; /* its rank is the index of a member; its time is not set */
};

/* All times are microseconds by the local clock. */
struct history_faults {
    int64_t began;  /* when the first leader took office */
    unsigned first; /* the first leader */
    int64_t lease, renewal, delay;
    unsigned count;
    struct history_fault fault[HISTORY_FAULTS]; /* by time */
};

/* Returns false if no leader is recorded. */
bool history_find_faults(const struct history *h, struct history_faults *f);

#endif
