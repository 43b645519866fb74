/*
 * Writes the trace of a world: a line for every step, with its reason, and a line for every message
 * sent. Messages that are sent continually, such as heartbeats, appear only if they change
 * something, unless `verbose` is set.
 */
#ifndef ELECT_MODEL_NARRATE_H
#define ELECT_MODEL_NARRATE_H

#include "../base/text.h"
#include "world.h"

/* Appends zero or more lines to `t`. Each line ends in a newline. */
void narrate_happening(const struct world *w, const struct happening *h, bool verbose,
                       struct text *t);

/* Appends only the reason for a step (its rule), with the names of the processes involved. */
void narrate_rule(const struct world *w, const struct happening *h, struct text *t);
void narrate_message(const struct world *w, const struct elect_message *m, struct text *t);
/* Appends a message with all its fields, so that any two different messages under a mandate can be
 * told apart. */
void narrate_exactly(const struct world *w, const struct elect_message *m, struct text *t);
/* Returns the name that traces and scenario files use for one of the times of a mandate, such as
 * the end of its lease. */
const char *narrate_time(enum elect_time_name name);

/* Appends the outcome: the leader, its followers, and how many messages were sent. */
void narrate_outcome(const struct world *w, struct text *t);

#endif
