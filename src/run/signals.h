/* The signals that elect run receives. */
#ifndef ELECT_RUN_SIGNALS_H
#define ELECT_RUN_SIGNALS_H

#include <stdbool.h>

/* Returns true if this signal asks elect run to end: TERM, INT, HUP or QUIT. */
bool signals_end(int number);
/* Blocks every signal that elect run passes on or ignores, and returns a descriptor from which they
 * can be read; -1 if that fails. */
int signals_open(void);
/* Reads and returns the next signal that the runner passes on or obeys; 0 if there is none. */
int signals_next(int signals);

#endif
