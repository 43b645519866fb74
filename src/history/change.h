/* Finds the last change of leader in the flight recorders. If there is no leader now, finds how the
 * last leader was lost. */
#ifndef ELECT_HISTORY_CHANGE_H
#define ELECT_HISTORY_CHANGE_H

#include "collect.h"

#define HISTORY_LINES 12 /* the largest number of lines that explain a change */

/* A step that one or more members took, shown as one line. */
struct history_line {
    const struct history_step *first;
    int64_t last;    /* the latest time at which a member took this step */
    unsigned others; /* number of members that took the step, apart from the first */
    uint64_t who;    /* set of members */
    int weight;      /* lines with a small weight are removed first */
};

/* How the end of the old leader's office was found. */
enum history_ending {
    HISTORY_END_UNKNOWN,  /* there is no record */
    HISTORY_END_OWN,      /* the old leader recorded the end itself */
    HISTORY_END_GUARDIAN, /* the old leader's guardian sent a testament */
    HISTORY_END_RELEASED  /* other members recorded that the office was released */
};

struct history_change {
    /* the step in which the new leader took office; NULL: there is no leader */
    const struct history_step *takes;
    /* equal to `takes` or, without a leader, the end of all steps */
    const struct history_step *limit;
    int64_t at;      /* when the new leader took office; without one, when the daemon was asked */
    const char *old; /* the old leader; NULL: there was none */
    /* the step in which the old leader took office; NULL: not recorded */
    const struct history_step *before;
    /* the latest step in which the old leader took office or a voter granted it the mandate */
    const struct history_step *reign;
    const struct history_step *sign; /* the last step that shows the old leader alive */
    enum history_ending how;
    const struct history_step *end; /* the step that shows the end of the old leader's office */
    bool measured;                  /* the length of the time without a leader is known */
    /* exact with HISTORY_END_OWN, otherwise an upper bound; negative: two members led */
    int64_t gap;
    int64_t error; /* the largest error of the gap, because clocks differ */
    bool lasts;    /* the end of the new office is not recorded */
    unsigned lines, left_out;
    struct history_line line[HISTORY_STEPS];
};

/* Returns false if no change is recorded. */
bool history_find_change(const struct history *h, struct history_change *c);

#endif
