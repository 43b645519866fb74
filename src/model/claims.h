/*
 * Records what each process has claimed under a mandate: the largest token with which it led, the
 * largest term that its voter granted, and the largest term in which it obeyed an order to resign.
 * The checks of the promises P1, P2, P3 and P5 (docs/guarantees.md) use this record. The record is
 * kept outside the process, so that no crash and no broken disk can change it.
 */
#ifndef ELECT_MODEL_CLAIMS_H
#define ELECT_MODEL_CLAIMS_H

#include "elect.h"

struct claims {
    elect_term taken, granted;
    elect_term ordered; /* the largest term in which the process obeyed an order to resign */
};

/* The ways in which a claim can violate the promises P1, P2, P3 or P5. */
enum {
    CLAIMED_TWICE = 1,   /* a process took office twice in the same term, even across a restart */
    CLAIMED_FALLING = 2, /* a voter granted a smaller term than before */
    CLAIMED_LATE = 4,    /* an office began with a token that was not the largest so far */
    CLAIMED_OVER = 8,    /* a process sent a RELEASE while it still led or its work still ran */
    CLAIMED_ORDER = 16   /* a process obeyed an order to resign twice, or for another term */
};

/*
 * Records what a process claims in one step, and returns the violations, a set of CLAIMED_*.
 * `token` is the token with which the process led before the step, and `latest` is the largest
 * token of any process so far. `spoken` is true if the messages of the step have left the process.
 * If they have not, a grant is not recorded, because a grant that still waits for the disk is lost
 * if the voter crashes.
 */
unsigned claims_note(struct claims *c, elect_term *latest, elect_term token,
                     const struct elect_node *node, const struct elect_output *out, bool spoken);

/* Records a step in which a process that led with the token `token` received an order to resign in
 * the term `named`. Returns CLAIMED_ORDER if the process was wrong to obey the order, and otherwise
 * 0. */
unsigned claims_note_order(struct claims *c, elect_term token, elect_term named,
                           const struct elect_output *out);

#endif
