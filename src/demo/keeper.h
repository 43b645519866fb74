/* The process that has the daemons of the demonstration, and is the network between them. */
#ifndef ELECT_DEMO_KEEPER_H
#define ELECT_DEMO_KEEPER_H

#include "ground.h"

/* Until the other end of the channel is closed; does not come back. */
_Noreturn void keeper_run(struct ground *g, int channel);

/* The folder is removed, and the terminal as it was, when the daemons are dead. */
void keeper_clean_up(const struct ground *g);

#endif
