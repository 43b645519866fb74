/* When a daemon starts, the member's previous daemon may still be running, because a member without
 * a guardian hands over before it exits. It keeps the state file locked until then. */
#ifndef ELECT_DAEMON_PREDECESSOR_H
#define ELECT_DAEMON_PREDECESSOR_H

#include "config.h"
#include "journal.h"

/* Waits until the member's state file is unlocked, for at most one lease plus ten seconds, and logs
 * that it is waiting. Then binds the member's sockets. Never breaks a lock. Returns false, with a
 * complaint, if the file stays locked or a socket cannot be bound. */
bool predecessor_succeed(const struct config *c, const struct config_member *me,
                         const struct elect_peer *peers, int sockets[ELECT_UV_LINKS],
                         struct journal *journal, struct text *complaint);

#endif
