/* The supervisor is the parent process of the daemons, and simulates the network between them. */
#ifndef ELECT_DEMO_SUPERVISOR_H
#define ELECT_DEMO_SUPERVISOR_H

#include "cluster.h"

/* Carries out orders until the other end of the channel is closed. */
_Noreturn void supervisor_run(struct cluster *g, int channel);

/* Removes the folder as soon as the daemons have exited, and restores the settings of the
 * terminal. */
void supervisor_clean_up(const struct cluster *g);

#endif
