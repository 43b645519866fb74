/* When each hook runs: one at a time and in order in each group, and none for a state that has
 * passed. hook.c, in the guardian, runs them. */
#ifndef ELECT_DAEMON_HOOKS_H
#define ELECT_DAEMON_HOOKS_H

#include "work.h"

/* Starts the next hook of a group if it is time, and cancels one that comes too late. */
void hooks_turn(struct work *w, unsigned group);
/* The guardian reports how a hook ended. */
void hooks_done(struct work *w, const struct guard_note *note);
/* Returns true if no hook runs that an office waits for, and none is to be undone. */
bool hooks_rest(const struct work *w, unsigned group);
/* The guardian is dead. From now on the member itself runs on-follower, where on-leader was run,
 * and no other hook. */
void hooks_unguarded(struct work *w);
/* Takes in the hooks that the member itself ran. Returns true if one is still to be undone. */
bool hooks_reap(struct work *w);

#endif
