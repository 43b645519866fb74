/* The process that has the daemons of the demonstration, and is the network between them. */
#ifndef ELECT_DEMO_SUPERVISOR_H
#define ELECT_DEMO_SUPERVISOR_H

#include "cluster.h"

/* Until the other end of the channel is closed; does not come back. */
_Noreturn void supervisor_run(struct cluster *g, int channel);

/* The folder is removed, and the terminal as it was, when the daemons are dead. */
void supervisor_clean_up(const struct cluster *g);

#endif
