/* What the core must remember, by rank, and what the state file has of it, by number: ranks change
 * with the configuration, numbers do not. */
#ifndef ELECT_RUNTIME_SAVED_H
#define ELECT_RUNTIME_SAVED_H

#include "elect.h"
#include "store.h"

/* Before each start: the members of the configuration, this one too, are made known to the state.
 * NULL, or why there can be no start. What is remembered of a member that is gone guards against an
 * earlier state of it, should it come back: it stays while there is room. Then whoever is in no
 * group that the state knows goes first, and the one of whose state the least was seen (the lowest
 * sequence: there is no date). A group is never forgotten: its promises may be in force. */
const char *saved_begin(struct state *state, const uint16_t *id, unsigned count);

/* False if the state counts with a member that the configuration does not know: whom says which. */
bool saved_load(const struct elect_config *config, const struct state *state,
                const struct state_group *group, struct elect_saved *saved, uint16_t *whom);

/* Into the same group: what it has of terms of unknown members, which are over, stays. */
void saved_store(const struct elect_config *config, const struct elect_saved *saved,
                 struct state *state, struct state_group *group);

#endif
