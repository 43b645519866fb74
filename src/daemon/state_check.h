/* Checks the state file of a member that is not running. */
#ifndef ELECT_DAEMON_STATE_CHECK_H
#define ELECT_DAEMON_STATE_CHECK_H

#include "config.h"

/* Returns true if a daemon of that user could start with the state file; otherwise adds the problem
 * and the remedy to `why`. The file is neither changed nor locked. */
bool state_check(const struct config *c, const struct config_member *me, uid_t user,
                 struct text *why);

#endif
