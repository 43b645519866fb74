/* Finds the last change of leader in the flight recorders. If there is no leader now, finds how
 * the last one was lost. */
#ifndef ELECT_HISTORY_CHANGE_H
#define ELECT_HISTORY_CHANGE_H

#include "collect.h"

#define HISTORY_LINES 12 /* maximum number of lines that explain a change */

struct history_line {
    const struct history_step *first;
    int64_t last;
    unsigned others; /* how many members took it after the first */
    uint64_t who;
    int weight; /* the least important lines are removed first */
};

/* Evidence of the end of the old leader's term. */
enum history_ending {
    HISTORY_END_UNKNOWN,  /* nothing recorded */
    HISTORY_END_OWN,      /* the old leader's own record */
    HISTORY_END_GUARDIAN, /* its guardian's death report */
    HISTORY_END_RELEASED  /* other members' records of the release */
};

struct history_change {
    /* step where the new leader took office; NULL if there is none */
    const struct history_step *takes;
    /* `takes`, or the end of the steps if that is NULL */
    const struct history_step *limit;
    int64_t at;      /* time of the change; without a new leader, of the request */
    const char *old; /* NULL if none */
    /* step where the old leader took office; NULL if not recorded */
    const struct history_step *before;
    /* last step where the old leader took office or renewed its mandate */
    const struct history_step *reign;
    const struct history_step *sign;
    enum history_ending how;
    const struct history_step *end;
    bool measured;
    /* Time without a leader: exact with HISTORY_END_OWN, otherwise an upper bound. Negative if
     * two members led at once. */
    int64_t gap;
    int64_t error; /* maximum error of `gap`, because clocks differ */
    bool lasts;    /* no record shows the end of the new leader's term */
    unsigned lines, left_out;
    struct history_line line[HISTORY_STEPS];
};

bool history_find_change(const struct history *h, struct history_change *c);

#endif
