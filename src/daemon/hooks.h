/* Decides when each hook runs. In each group, hooks run in order and one at a time. A hook is
 * skipped if the situation for which it would run has already passed. The guardian runs the hooks,
 * with hook.c. */
#ifndef ELECT_DAEMON_HOOKS_H
#define ELECT_DAEMON_HOOKS_H

#include "work.h"

/* Starts the next hook of a group if it is due, and cancels the running hook if the term of
 * leadership for which it was started has ended. */
void hooks_turn(struct work *w, unsigned group);
/* Handles the guardian's report that a hook has ended. */
void hooks_done(struct work *w, const struct guard_note *note);
/* Returns true if the member may release its term without waiting for a hook: no hook for that term
 * is running, and on-follower has undone every on-leader. */
bool hooks_rest(const struct work *w, unsigned group);
/* Handles the death of the guardian. From then on, the member itself runs on-follower in each group
 * in which on-leader was run, and runs no other hook. */
void hooks_unguarded(struct work *w);
/* After the death of the guardian, handles the end of each hook that the member itself runs.
 * Returns true if on-follower has not yet undone every on-leader. */
bool hooks_reap(struct work *w);

#endif
