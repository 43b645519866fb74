/* What the core must remember, by rank, and what the state file has of it, by number: ranks change
 * with the configuration, numbers do not. */
#ifndef ELECT_SAVED_H
#define ELECT_SAVED_H

#include "elect.h"
#include "store.h"

/* False if the state counts with a member that the configuration does not know: whom says which. */
bool saved_load(const struct elect_config *config, const struct state *state,
                const struct state_group *group, struct elect_saved *saved, uint16_t *whom);

/* Into the same group: what it has of terms of unknown members, which are over, stays. */
void saved_store(const struct elect_config *config, const struct elect_saved *saved,
                 struct state *state, struct state_group *group);

#endif
