/* When a daemon starts, the previous daemon of the same member may still be running, because a
 * member whose guardian was killed hands over before it exits. The previous daemon keeps the state
 * file locked until it has exited. */
#ifndef ELECT_DAEMON_PREDECESSOR_H
#define ELECT_DAEMON_PREDECESSOR_H

#include "config.h"
#include "journal.h"

/* Waits until no other process holds the lock on the member's state file, for at most one lease
 * plus ten seconds. Then binds the sockets of the member. Logs that it is waiting. Never takes the
 * lock away from another process. Returns false, with a complaint, if the file stays locked or the
 * sockets cannot be bound. */
bool predecessor_succeed(const struct config *c, const struct config_member *me,
                         const struct elect_peer *peers, int sockets[ELECT_UV_LINKS],
                         struct journal *journal, struct text *complaint);

#endif
