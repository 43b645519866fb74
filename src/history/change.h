/* Finds the last change of leader in the flight recorders. If there is no leader now, finds how the
 * last leader was lost. */
#ifndef ELECT_HISTORY_CHANGE_H
#define ELECT_HISTORY_CHANGE_H

#include "collect.h"

#define HISTORY_LINES 12 /* the largest number of lines that explain a change */

/* A step that one or more members took. It is shown on one line. */
struct history_line {
    const struct history_step *first;
    int64_t last;    /* when the last of its members took the step */
    unsigned others; /* how many other members took the step after the first one */
    uint64_t who;    /* the set of all members that took the step */
    int weight;      /* how important the line is; the least important lines are removed first */
};

/* The kind of evidence that shows when the old leader's office ended. */
enum history_ending {
    HISTORY_END_UNKNOWN,  /* no record shows when it ended */
    HISTORY_END_OWN,      /* the old leader recorded the end itself */
    HISTORY_END_GUARDIAN, /* the old leader's guardian sent a testament */
    HISTORY_END_RELEASED  /* other members recorded that the leader released its office */
};

struct history_change {
    /* the step in which the new leader took office; NULL if there is no new leader */
    const struct history_step *takes;
    /* the step in which the new leader took office or, without a new leader, the end of the array
     * of steps */
    const struct history_step *limit;
    int64_t at;      /* when the new leader took office or, without one, the time of the request */
    const char *old; /* the old leader; NULL: there was none */
    /* the step in which the old leader took office; NULL if this was not recorded */
    const struct history_step *before;
    /* the last step in which the old leader took office or a voter granted it the mandate */
    const struct history_step *reign;
    const struct history_step *sign; /* the last step that shows that the old leader was alive */
    enum history_ending how;
    const struct history_step *end; /* the step that shows the end of the old leader's office */
    bool measured;                  /* true if `gap` is known */
    /* How long there was no leader. This is exact with HISTORY_END_OWN, and an upper bound
     * otherwise. If it is negative, two members led at once. */
    int64_t gap;
    int64_t error; /* the largest error of `gap`, because clocks differ */
    bool lasts;    /* true if no record shows that the new leader's office has ended */
    unsigned lines, left_out;
    struct history_line line[HISTORY_STEPS];
};

/* Finds the last change of leader. Returns false if no change is recorded. */
bool history_find_change(const struct history *h, struct history_change *c);

#endif
