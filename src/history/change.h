/* Finds the last change of leader in the flight recorders or, if there is no leader now, how the
 * last leader was lost. */
#ifndef ELECT_HISTORY_CHANGE_H
#define ELECT_HISTORY_CHANGE_H

#include "collect.h"

#define HISTORY_LINES 12 /* how many lines of a change are kept, at most */

/* The same step of several members, in one line. */
struct history_line {
    const struct history_step *first;
    int64_t last;    /* when the last of these members took the step */
    unsigned others; /* how many other members took it */
    uint64_t who;    /* set of members */
    int weight;      /* the lightest lines are left out first */
};

/* The evidence that the old leader no longer led. */
enum history_ending {
    HISTORY_END_UNKNOWN,  /* there is no record */
    HISTORY_END_OWN,      /* its own record, with the time */
    HISTORY_END_GUARDIAN, /* its guardian sent a testament */
    HISTORY_END_RELEASED  /* others heard that its office was over */
};

struct history_change {
    const struct history_step *takes; /* the new leader takes office; NULL: there is no leader */
    const struct history_step *limit; /* the same, or the end of the steps */
    int64_t at;      /* when the new leader took office; without one, when the daemon was asked */
    const char *old; /* the old leader; NULL: there was none */
    const struct history_step *before; /* the old leader took office; NULL: not recorded */
    const struct history_step *reign;  /* the last step that made the old leader lead */
    const struct history_step *sign;   /* its last sign of life */
    enum history_ending how;
    const struct history_step *end; /* the record of the end of its lead */
    bool measured;                  /* the time without a leader is known: */
    int64_t gap;   /* exact with HISTORY_END_OWN, else an upper bound; below 0: both led */
    int64_t error; /* the largest error of the gap, because clocks differ */
    bool lasts;    /* no record shows the end of the new office */
    unsigned lines, left_out;
    struct history_line line[HISTORY_STEPS];
};

/* Returns false if no change is recorded. */
bool history_find_change(const struct history *h, struct history_change *c);

#endif
