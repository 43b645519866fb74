/* Decides when each hook runs: one at a time and in order in each group, and no hook for a state
 * that has passed. The guardian runs them with hook.c. */
#ifndef ELECT_DAEMON_HOOKS_H
#define ELECT_DAEMON_HOOKS_H

#include "work.h"

/* Starts the next hook of a group if it is due, and cancels a hook whose office is over. */
void hooks_turn(struct work *w, unsigned group);
/* Handles the guardian's report of how a hook ended. */
void hooks_done(struct work *w, const struct guard_note *note);
/* Returns true if the end of an office need not wait for any hook, and every on-leader was
 * undone. */
bool hooks_rest(const struct work *w, unsigned group);
/* To be called when the guardian is dead. From now on the member itself runs on-follower where
 * on-leader was run, and no other hook. */
void hooks_unguarded(struct work *w);
/* Without a guardian: handles the ends of hooks that the member itself ran. Returns true if an
 * on-leader is still to be undone. */
bool hooks_reap(struct work *w);

#endif
