/* elect history --export: what happened to real members, as a scenario for the simulator. */
#ifndef ELECT_CMD_EXPORT_H
#define ELECT_CMD_EXPORT_H

#include "ask.h"

/* Writes the scenario and the story that the simulator tells of it. Returns an exit status. */
int export_history(struct asked_for *a, const char *file);

#endif
