/* What `elect verify` shares between its files. */
#ifndef ELECT_CMD_VERIFY_H
#define ELECT_CMD_VERIFY_H

#include "../verify/explore.h"
#include "sim.h"

/* The shortest bad history as the steps of a scenario; the caller frees it. */
char *witness_script(struct space *s, const struct outcome_of_exploration *o);
/* The story that it tells; NULL with a complaint if it does not show the violation. */
char *witness_story(const char *script, enum property property, struct text *complaint);

int cmd_verify(int argc, char **argv);

#endif
