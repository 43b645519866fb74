/*
 * Writes a history of real members as a scenario for the simulator. The simulator has its own
 * network, so the messages of the replay differ from those of the history. The leaders should be
 * the same, for the same reasons.
 */
#ifndef ELECT_HISTORY_SCRIPT_H
#define ELECT_HISTORY_SCRIPT_H

#include "collect.h"

/* Returns the script: settings, then faults, in milliseconds from the first recorded leader on.
 * Returns NULL if no leader is recorded. The caller frees the script. */
char *history_script(const struct history *h);

#endif
