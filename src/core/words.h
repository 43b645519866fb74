/*
 * Short names of the states and the rules, for all algorithm files. The names are the same whether
 * an algorithm file is compiled with vocabulary.h or with src/sim/lab.h. Each algorithm file names
 * its own messages and timers, and thus begins with a list of everything that it sends and waits
 * for.
 */
#ifndef ELECT_CORE_WORDS_H
#define ELECT_CORE_WORDS_H

#include "elect.h"

/* The deadline of the bully algorithm, in units of T. The process that took over the election needs
 * one T to ask the higher processes, and one T to announce itself. */
#define DEADLINE_IN_T 2

enum state { NORMAL = ELECT_NORMAL, ELECTING = ELECT_ELECTING, WAITING = ELECT_WAITING };

enum rule {
#define X(name, quiet, text) name = ELECT_RULE_##name,
    ELECT_RULES(X)
#undef X
};

#endif
