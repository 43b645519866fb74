/* The previous daemon of this member may still be ending, because a member whose guardian was
 * killed hands over before it ends. The previous daemon keeps the state file locked until it has
 * ended. */
#ifndef ELECT_DAEMON_PREDECESSOR_H
#define ELECT_DAEMON_PREDECESSOR_H

#include "config.h"
#include "journal.h"

/* Waits, for at most one lease and ten seconds, until no other process uses the state file of the
 * member, and then binds the sockets of the member. Logs that it waits, and never breaks the lock.
 * Returns false, with a complaint, if the file stays locked or the sockets cannot be bound. */
bool predecessor_succeed(const struct config *c, const struct config_member *me,
                         const struct elect_peer *peers, int sockets[ELECT_UV_LINKS],
                         struct journal *journal, struct text *complaint);

#endif
