/*
 * Writes a recorded history as a scenario for the simulator. In a replay, the simulator's network
 * delivers other messages than the real network did. The leaders, and the reason for each change of
 * leader, should still be the same.
 */
#ifndef ELECT_HISTORY_SCRIPT_H
#define ELECT_HISTORY_SCRIPT_H

#include "collect.h"

/* Returns the text of the scenario: first the settings, then the faults. All times are in
 * milliseconds since the first recorded leader took office. Returns NULL if no leader is recorded.
 * The caller must free the text. */
char *history_script(const struct history *h);

#endif
