/*
 * Writes a counterexample as a scenario file for `elect sim`. A world plays each step as it is
 * written, to tell which messages are in flight.
 */
#ifndef ELECT_VERIFY_COUNTEREXAMPLE_H
#define ELECT_VERIFY_COUNTEREXAMPLE_H

#include "../model/scenario_write.h"
#include "explore.h"

/* Returns the shortest history of a violation. The caller frees it. */
char *counterexample_script(struct space *s, const struct outcome_of_exploration *o);

/* ---- shared by counterexample.c and counterexample_mandate.c ---- */

struct counterexample {
    struct scenario_writer writer;
    struct space *space;
    struct world world;
};

void counterexample_fault(struct counterexample *c, const struct fault *f);

void counterexample_mandate_settings(const struct counterexample *c);
void counterexample_mandate_move(struct counterexample *c, const struct move *m,
                                 const struct row *before, const struct row *after);

#endif
