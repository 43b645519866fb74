/* elect history --export: writes a cluster's history as a scenario for the simulator. */
#ifndef ELECT_CMD_EXPORT_H
#define ELECT_CMD_EXPORT_H

#include "ask.h"

/* Writes the scenario file, including the simulator's trace. Returns an exit status. */
int export_history(struct asked_for *a, const char *file);

#endif
