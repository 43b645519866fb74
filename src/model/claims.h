/*
 * What a process ever claimed under a mandate: the largest token that it led with, the largest term
 * that its voter granted, and the last term that an order ended. The checks of P1 to P3 and P5 use
 * it. It is kept outside the process, so that no crash and no broken disk changes it.
 */
#ifndef ELECT_MODEL_CLAIMS_H
#define ELECT_MODEL_CLAIMS_H

#include "elect.h"

struct claims {
    elect_term taken, granted;
    elect_term ordered; /* the last term that an order ended */
};

/* How a claim violates P1 to P3. */
enum {
    CLAIMED_TWICE = 1,   /* a term that was led before, in another office or incarnation */
    CLAIMED_FALLING = 2, /* a voter granted a smaller term than before */
    CLAIMED_LATE = 4,    /* an office began whose token is not the largest so far */
    CLAIMED_OVER = 8,    /* a RELEASE by a process that leads, or whose work goes on */
    CLAIMED_ORDER = 16   /* an order was carried out twice, or in a term that it does not name */
};

/*
 * To be called after a step. `token` is what the process led with before it, `latest` the largest
 * token of all processes. A grant counts when it is sent: a crash of the voter loses a grant that
 * still waits for the disk. Returns the violations, a set of CLAIMED_*.
 */
unsigned claims_note(struct claims *c, elect_term *latest, elect_term token,
                     const struct elect_node *node, const struct elect_output *out, bool spoken);

/* To be called after a step in which a process that led in `token` was given an order for the term
 * `named`. Returns CLAIMED_ORDER, or 0. */
unsigned claims_note_order(struct claims *c, elect_term token, elect_term named,
                           const struct elect_output *out);

#endif
