/* The supervisor: the process that is the parent of the daemons and the network between them. */
#ifndef ELECT_DEMO_SUPERVISOR_H
#define ELECT_DEMO_SUPERVISOR_H

#include "cluster.h"

/* Obeys orders until the other end of the channel is closed. */
_Noreturn void supervisor_run(struct cluster *g, int channel);

/* Removes the folder, and restores the terminal, after the daemons have ended. */
void supervisor_clean_up(const struct cluster *g);

#endif
