/*
 * Runs one hook. The guardian runs the hooks; if the guardian is dead, the member runs them. The
 * parent of a hook is a separate process, the hook parent, which waits for the hook, ends it at its
 * timeout, and kills every process that the hook leaves behind. As no process of a hook outlives
 * the hook, work that must go on while the member leads must be started with elect run instead. A
 * hook is started without a shell, with a new environment, from a path that only root or this user
 * can change (see trusted.h).
 */
#ifndef ELECT_DAEMON_HOOK_H
#define ELECT_DAEMON_HOOK_H

#include "guardian.h"

#include <sys/types.h>

/* The outcome of a hook is its exit status, or one of the following values. Exit status 0 means
 * that the hook is done; 1 asks for a retry (or, from pre-leader, declines leadership); and any
 * other exit status asks the daemon to give up. */
enum {
    HOOK_TIMED_OUT = 124,
    HOOK_CANCELLED = 125,
    HOOK_NOT_TRUSTED = 126,
    HOOK_FAILED = 127, /* the hook could not be run, or was killed */
};

const char *hook_name(enum hook hook);

/* Returns false, with the name of the hook and the reason, if this user could not run a configured
 * hook. Without this check, a cluster would elect one member after another, and each member would
 * fail to run its hook. */
bool hook_check_all(const struct config *c, uid_t user, struct text *complaint);

/* Starts a hook. Returns the process id of the hook parent, whose exit status is the outcome of the
 * hook; -1 if the fork failed. SIGTERM to the hook parent cancels the hook. The output of the hook
 * is logged. Unless `held` is -1, the hook parent keeps that descriptor open until every process of
 * the hook has exited. */
pid_t hook_start(const struct config *c, const struct config_member *me,
                 const struct guard_note *note, struct journal *journal, int held);
/* Converts the wait status of a hook or a hook parent into the outcome of the hook. */
int hook_outcome(int status);

#endif
