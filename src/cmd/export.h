/* elect history --export: writes the history of a cluster as a scenario for the simulator. */
#ifndef ELECT_CMD_EXPORT_H
#define ELECT_CMD_EXPORT_H

#include "ask.h"

/* Writes a scenario file with the history and the simulator's trace of it. Returns an exit
 * status. */
int export_history(struct asked_for *a, const char *file);

#endif
