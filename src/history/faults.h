/*
 * Infers faults from the flight recorders. A recorder contains the steps of its member, but not the
 * faults that caused them. If a member starts again, it was down before, since its guardian sent a
 * testament or since other members missed it. If a running member lost its mandate or missed its
 * leader for a while, it was cut off or stalled.
 */
#ifndef ELECT_HISTORY_FAULTS_H
#define ELECT_HISTORY_FAULTS_H

#include "../model/world.h"
#include "collect.h"

#define HISTORY_FAULTS      512
#define HISTORY_MILLISECOND 1000 /* the recorders measure time in microseconds */

struct history_fault {
    int64_t at;
    int64_t lasts;      /* only for a stall */
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
