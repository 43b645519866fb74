/* elect history --export: writes the history of a cluster as a scenario for the simulator. */
#ifndef ELECT_CMD_EXPORT_H
#define ELECT_CMD_EXPORT_H

#include "ask.h"

/* Writes the scenario together with its trace from the simulator. Returns an exit status. */
int export_history(struct asked_for *a, const char *file);

#endif
