/*
 * Writes a recorded history as a scenario for the simulator. The simulator has its own network, so
 * the messages of the replay differ from those of the history. The leaders, and the reasons for
 * each change, should be the same.
 */
#ifndef ELECT_HISTORY_SCRIPT_H
#define ELECT_HISTORY_SCRIPT_H

#include "collect.h"

/* Returns the script, which contains settings and then faults. All times are in milliseconds since
 * the first recorded leader took office. Returns NULL if no leader is recorded. The caller frees
 * the script. */
char *history_script(const struct history *h);

#endif
