/* What happened to real members, as a scenario for the simulator. */
#ifndef ELECT_CMD_EXPORT_H
#define ELECT_CMD_EXPORT_H

#include "gather.h"

/* The script of it: settings, then what befell whom, in milliseconds, from the first leader that is
 * recorded on. NULL if none is. The caller frees it. */
char *export_script(const struct gathered *g);

/* Writes it, with the story that the simulator tells of it; an exit status. */
int export_history(struct asked_for *a, const char *file);

#endif
