/*
 * One hook, as the guardian runs it, or the member if its guardian is dead. Its parent is a process
 * of its own, the hook parent, which waits for the hook, ends it at its timeout, and kills every
 * process that it leaves. So no process of a hook outlives it; work that goes on belongs to elect
 * run. A hook is started without a shell, with a new environment, from a path that only root or
 * this user can change (see trusted.h).
 */
#ifndef ELECT_DAEMON_HOOK_H
#define ELECT_DAEMON_HOOK_H

#include "guardian.h"

#include <sys/types.h>

/* Outcomes beside the exit status of the hook, of which 0 means done, 1 retry, others: give up. */
enum {
    HOOK_TIMED_OUT = 124,
    HOOK_CANCELLED = 125,
    HOOK_NOT_TRUSTED = 126,
    HOOK_FAILED = 127, /* it could not be run, or was killed */
};

const char *hook_name(enum hook hook);

/* Returns false, with the name of the hook and the reason, if this user could not run a hook of the
 * configuration. Otherwise each member that is elected would fail in turn. */
bool hook_check_all(const struct config *c, uid_t user, struct text *complaint);

/* Returns the hook parent, whose exit status is the outcome; -1: it could not be forked. SIGTERM
 * cancels the hook. What the hook prints is logged. The hook parent keeps the descriptor `held`
 * open until nothing of the hook is left; -1: none. */
pid_t hook_start(const struct config *c, const struct config_member *me,
                 const struct guard_note *note, struct journal *journal, int held);
int hook_outcome(int status); /* of waitpid() */

#endif
