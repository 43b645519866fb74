/*
 * Hooks, as the guardian runs them: each under a keeper of its own, a process that waits for it,
 * ends it when its time is over, and kills whatever it leaves behind. So nothing of a hook outlives
 * it; for work that goes on there is elect run. No shell, an environment from scratch, and a path
 * that nobody but root or this user can change: see trusted.h.
 */
#ifndef ELECT_DAEMON_HOOK_H
#define ELECT_DAEMON_HOOK_H

#include "guardian.h"

#include <sys/types.h>

/* What came of it, beside its own exit status: 0 fine, 1 again, more: no use. */
enum {
    HOOK_TIMED_OUT = 124,
    HOOK_CANCELLED = 125,
    HOOK_NOT_TRUSTED = 126,
    HOOK_FAILED = 127, /* it could not be run, or was killed */
};

const char *hook_name(enum hook hook);

/* The keeper, whose exit status is the outcome; -1: there can be none. SIGTERM cancels it. */
pid_t hook_start(const struct config *c, const struct config_member *me,
                 const struct guard_note *note);
int hook_outcome(int status); /* of waitpid() */

#endif
