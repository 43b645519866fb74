/* The parent of the daemons, and the network between them. */
#ifndef ELECT_DEMO_SUPERVISOR_H
#define ELECT_DEMO_SUPERVISOR_H

#include "cluster.h"

_Noreturn void supervisor_run(struct cluster *g, int channel);

/* Removes the folder once the daemons have exited, and restores the terminal's settings. */
void supervisor_clean_up(const struct cluster *g);

#endif
