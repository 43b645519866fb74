/*
 * The words that algorithm files share, whichever vocabulary they are compiled against: states and
 * rules under their short names. Messages and timers are named by each algorithm itself, so that
 * its file begins with everything that it says and waits for.
 */
#ifndef ELECT_CORE_WORDS_H
#define ELECT_CORE_WORDS_H

#include "elect.h"

/* The bully's deadline, in T: the process that took over needs T to ask, and T to be heard. */
#define DEADLINE_IN_T 2

enum state { NORMAL = ELECT_NORMAL, ELECTING = ELECT_ELECTING, WAITING = ELECT_WAITING };

enum rule {
#define X(name, quiet, text) name = ELECT_RULE_##name,
    ELECT_RULES(X)
#undef X
};

#endif
