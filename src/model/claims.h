/*
 * What a process ever claimed under a mandate, for whoever checks the promises: the largest token
 * that it led with and the largest term that its voter granted. It is not part of the process, and
 * no crash or broken disk changes it.
 */
#ifndef ELECT_MODEL_CLAIMS_H
#define ELECT_MODEL_CLAIMS_H

#include "elect.h"

struct claims {
    elect_term taken, granted;
};

/* What a claim broke. */
enum {
    CLAIMED_TWICE = 1,   /* a term that was led before, in another office or incarnation */
    CLAIMED_FALLING = 2, /* a voter granted a smaller term than before */
    CLAIMED_LATE = 4,    /* an office began whose token is not the largest so far */
    CLAIMED_OVER = 8     /* a RELEASE by who leads, or whose work goes on */
};

/*
 * After a step: `token` is what the process led with before. `latest` is the largest token of all
 * processes. A grant counts once it is spoken: one that waits for a disk may die with its voter.
 */
unsigned claims_note(struct claims *c, elect_term *latest, elect_term token,
                     const struct elect_node *node, const struct elect_output *out, bool spoken);

#endif
