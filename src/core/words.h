/*
 * The words that all algorithm files share, whichever vocabulary they are compiled against: states
 * and rules under their short names. Each algorithm file names its own messages and timers, so that
 * it begins with a list of everything that it sends and waits for.
 */
#ifndef ELECT_CORE_WORDS_H
#define ELECT_CORE_WORDS_H

#include "elect.h"

/* The bully's deadline, in units of T. The process that took over needs one T to ask the processes
 * above it, and one T to announce itself. */
#define DEADLINE_IN_T 2

enum state { NORMAL = ELECT_NORMAL, ELECTING = ELECT_ELECTING, WAITING = ELECT_WAITING };

enum rule {
#define X(name, quiet, text) name = ELECT_RULE_##name,
    ELECT_RULES(X)
#undef X
};

#endif
