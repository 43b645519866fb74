/*
 * Writes a recorded history as a scenario for the simulator. In a replay, the messages are not
 * exactly those of the real network, but the leaders and the reason for each change of leader
 * should be the same.
 */
#ifndef ELECT_HISTORY_SCRIPT_H
#define ELECT_HISTORY_SCRIPT_H

#include "collect.h"

/* Returns the scenario: settings, then faults. Times are in milliseconds since the first
 * recorded leader took office. Returns NULL if no leader is recorded. The caller must free the
 * text. */
char *history_script(const struct history *h);

#endif
