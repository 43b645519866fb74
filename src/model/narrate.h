/*
 * The story of a world, in the words of the lecture: a line for every step, with its reason, and a
 * line for every message sent. Acknowledgements and heartbeats are told only where they change
 * something, unless `verbose` asks for everything.
 */
#ifndef ELECT_MODEL_NARRATE_H
#define ELECT_MODEL_NARRATE_H

#include "../base/text.h"
#include "world.h"

/* Zero or more lines, each ending in a newline, appended to `t`. */
void narrate_happening(const struct world *w, const struct happening *h, bool verbose,
                       struct text *t);

/* The reason alone: the rule of a step, filled in. */
void narrate_rule(const struct world *w, const struct happening *h, struct text *t);
void narrate_message(const struct world *w, const struct elect_message *m, struct text *t);
/* With all fields, so that no two different messages of a mandate read alike. */
void narrate_exactly(const struct world *w, const struct elect_message *m, struct text *t);
/* The name of a time of the mandate in stories and scenario files. */
const char *narrate_time(enum elect_time_name name);

/* How it ended: the leader, its followers and the costs. */
void narrate_outcome(const struct world *w, struct text *t);

#endif
