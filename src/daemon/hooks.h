/* Decides when each hook runs. In each group, hooks run in order and one at a time, and a hook is
 * skipped if its state has passed. The guardian runs the hooks with hook.c. */
#ifndef ELECT_DAEMON_HOOKS_H
#define ELECT_DAEMON_HOOKS_H

#include "work.h"

/* Starts the next hook of a group if it is due, and cancels a hook whose office is over. */
void hooks_turn(struct work *w, unsigned group);
/* Handles the guardian's report that a hook has ended. */
void hooks_done(struct work *w, const struct guard_note *note);
/* Returns true if the end of an office need not wait for a hook, because no hook of the office runs
 * and every on-leader was undone. */
bool hooks_rest(const struct work *w, unsigned group);
/* Handles the death of the guardian. From then on, the member itself runs on-follower in each group
 * in which on-leader was run, and runs no other hook. */
void hooks_unguarded(struct work *w);
/* Handles the ends of the hooks that the member itself runs after the death of its guardian.
 * Returns true if an on-leader has not been undone yet. */
bool hooks_reap(struct work *w);

#endif
