/* Decides when each hook runs. In each group, hooks run in order and one at a time. A hook is
 * skipped if its reason has already passed. The guardian runs the hooks, with hook.c. */
#ifndef ELECT_DAEMON_HOOKS_H
#define ELECT_DAEMON_HOOKS_H

#include "work.h"

/* Starts the group's next hook if it is due, and cancels the running hook if its term has ended. */
void hooks_turn(struct work *w, unsigned group);
void hooks_done(struct work *w, const struct guard_note *note);
/* Returns true if the term may be released without waiting for a hook: none is running for that
 * term, and on-follower has undone every on-leader. */
bool hooks_rest(const struct work *w, unsigned group);
/* Handles the guardian's death. From then on, the member itself runs on-follower in each group with
 * an on-leader to undo, and no other hook. */
void hooks_unguarded(struct work *w);
/* Handles the end of hooks that the member runs itself, without a guardian. Returns true if
 * on-follower has not undone every on-leader yet. */
bool hooks_reap(struct work *w);

#endif
