/*
 * Writes the trace of a world: a line for each step, with its reason, and one for each message
 * sent. Heartbeats and other routine messages appear only if they change something, unless
 * `verbose` is set.
 */
#ifndef ELECT_MODEL_NARRATE_H
#define ELECT_MODEL_NARRATE_H

#include "../base/text.h"
#include "world.h"

/* Appends zero or more lines, each with a newline. */
void narrate_happening(const struct world *w, const struct happening *h, bool verbose,
                       struct text *t);

/* Appends only the reason for the step, with the names of the processes involved. */
void narrate_rule(const struct world *w, const struct happening *h, struct text *t);
void narrate_message(const struct world *w, const struct elect_message *m, struct text *t);
/* Appends all fields, so that no two different messages under a mandate look alike. */
void narrate_exactly(const struct world *w, const struct elect_message *m, struct text *t);
/* Returns the word for a mandate's time, such as the end of its lease, in traces and scenario
 * files. */
const char *narrate_time(enum elect_time_name name);

void narrate_outcome(const struct world *w, struct text *t);

#endif
