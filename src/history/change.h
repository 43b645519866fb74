/* Finds the last change of leader in the flight recorders or, if there is no leader now, how the
 * last one was lost. */
#ifndef ELECT_HISTORY_CHANGE_H
#define ELECT_HISTORY_CHANGE_H

#include "collect.h"

#define HISTORY_LINES 12 /* as many as are left of a change */

/* The same step of several members, in one line. */
struct history_line {
    const struct history_step *first;
    int64_t last;    /* when the last of them took it */
    unsigned others; /* besides the first */
    uint64_t who;    /* set of members */
    int weight;      /* the lightest lines are left out first */
};

/* How it is known that the old leader no longer led. */
enum history_ending {
    HISTORY_END_UNKNOWN,  /* no record says so */
    HISTORY_END_OWN,      /* it recorded that itself, with the time */
    HISTORY_END_GUARDIAN, /* its guardian said that it is dead */
    HISTORY_END_RELEASED  /* others heard that its office was over */
};

struct history_change {
    const struct history_step *takes;  /* the new leader takes office; NULL: no leader since */
    const struct history_step *limit;  /* the same, or behind the last step */
    int64_t at;                        /* when it took office, or else when the daemon was asked */
    const char *old;                   /* the leader before; NULL: there was none */
    const struct history_step *before; /* the old leader took office; NULL: not recorded */
    const struct history_step *reign;  /* the last step by which the old leader came to lead */
    const struct history_step *sign;   /* its last sign of life */
    enum history_ending how;
    const struct history_step *end; /* the record that says so */
    bool measured;                  /* the time without a leader is known: */
    int64_t gap;   /* exactly that long with HISTORY_END_OWN, else at most; below 0: both led */
    int64_t error; /* by which the gap may be wrong, because clocks differ */
    bool lasts;    /* no record says that the new office is over */
    unsigned lines, left_out;
    struct history_line line[HISTORY_STEPS];
};

/* Returns false if no change is recorded. */
bool history_find_change(const struct history *h, struct history_change *c);

#endif
