/*
 * What happened to real members, as a scenario for the simulator. The simulator has a network of
 * its own, so the messages of the replay are not those of the history; who leads, and why, should
 * be.
 */
#ifndef ELECT_HISTORY_SCRIPT_H
#define ELECT_HISTORY_SCRIPT_H

#include "collect.h"

/* Returns the script: settings, then faults, in milliseconds from the first recorded leader on.
 * NULL if no leader is recorded. The caller frees it. */
char *history_script(const struct history *h);

#endif
