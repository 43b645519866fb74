/*
 * Records the claims of each process under a mandate: the largest token it led with, the largest
 * term its voter granted, and the largest term it resigned on an order. The checks of P1, P2, P3
 * and P5 (docs/guarantees.md) use this record. It is kept outside the process, where no crash or
 * broken disk can change it.
 */
#ifndef ELECT_MODEL_CLAIMS_H
#define ELECT_MODEL_CLAIMS_H

#include "elect.h"

struct claims {
    elect_term taken, granted;
    elect_term ordered;
};

/* Violations of P1, P2, P3 and P5. */
enum {
    CLAIMED_TWICE = 1,   /* took office twice in a term, even across a restart */
    CLAIMED_FALLING = 2, /* granted a smaller term than before */
    CLAIMED_LATE = 4,    /* took office with a token that was not the largest so far */
    CLAIMED_OVER = 8,    /* sent a RELEASE while it led or its work still ran */
    CLAIMED_ORDER = 16   /* obeyed an order to resign twice, or for another term */
};

/*
 * Records the claims of a step and returns the violations (a set of CLAIMED_*). `token` is the
 * process's token before the step, `latest` the largest of any process so far. `spoken` means that
 * the messages of the step have left the process; a grant that still waits for the disk is not
 * recorded, because a crash loses it.
 */
unsigned claims_note(struct claims *c, elect_term *latest, elect_term token,
                     const struct elect_node *node, const struct elect_output *out, bool spoken);

/* Records an order to resign in the term `named`, given to a process that led with `token`. Returns
 * CLAIMED_ORDER if the process was wrong to obey, otherwise 0. */
unsigned claims_note_order(struct claims *c, elect_term token, elect_term named,
                           const struct elect_output *out);

#endif
