/*
 * Writes a recorded history as a scenario for the simulator. The replay does not repeat every
 * message of the real network, but should have the same leaders and the same reason for each
 * change.
 */
#ifndef ELECT_HISTORY_SCRIPT_H
#define ELECT_HISTORY_SCRIPT_H

#include "collect.h"

/* Returns the scenario: settings, then faults. Times are in milliseconds since the first
 * recorded leader took office. Returns NULL if no leader is recorded. The caller must free the
 * text. */
char *history_script(const struct history *h);

#endif
