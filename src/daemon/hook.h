/*
 * Runs one hook. The guardian runs the hooks, or the member if the guardian is dead. The parent of
 * a hook is a process of its own, the hook parent: it waits for the hook, ends it at its timeout,
 * and kills every process that the hook leaves behind. Work that must continue while the member
 * leads must therefore be started with elect run. A hook is started without a shell, with a new
 * environment, from a path that only root or this user can change (see trusted.h).
 */
#ifndef ELECT_DAEMON_HOOK_H
#define ELECT_DAEMON_HOOK_H

#include "guardian.h"

#include <sys/types.h>

/* Outcome of a hook: its exit status, or one of the values below. Exit status 0 means done; 1 asks
 * for a retry (or, from pre-leader, declines leadership); any other asks the daemon to give up. */
enum {
    HOOK_TIMED_OUT = 124,
    HOOK_CANCELLED = 125,
    HOOK_NOT_TRUSTED = 126,
    HOOK_FAILED = 127, /* could not be run, or was killed */
};

const char *hook_name(enum hook hook);

/* Returns false, with the hook's name and the reason, if this user cannot run a configured hook.
 * Otherwise the cluster would elect one member after another, and each would fail to run its
 * hook. */
bool hook_check_all(const struct config *c, uid_t user, struct text *complaint);

/* Starts a hook and logs its output. Returns the process id of the hook parent, whose exit status
 * is the hook's outcome; -1 if the fork failed. SIGTERM to the hook parent cancels the hook. Unless
 * `held` is -1, the hook parent keeps that descriptor open until all processes of the hook have
 * exited. */
pid_t hook_start(const struct config *c, const struct config_member *me,
                 const struct guard_note *note, struct journal *journal, int held);
/* Converts the wait status of a hook or a hook parent. */
int hook_outcome(int status);

#endif
