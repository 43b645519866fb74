/* Translates between what the core remembers by rank and what the state file keeps by number. Ranks
 * change with the configuration, but numbers do not. */
#ifndef ELECT_RUNTIME_SAVED_H
#define ELECT_RUNTIME_SAVED_H

#include "elect.h"
#include "store.h"

/* Adds the other configured members to the state before each start. Returns NULL, or the reason why
 * the member cannot start. The state keeps its record of a removed member while there is room, to
 * detect an earlier state of that member if it comes back. When there is no room, the first records
 * to be dropped are those of members that are in no group of the state, and among them those with
 * the lowest sequence. A group is never dropped, because its promises may be in force. */
const char *saved_begin(struct state *state, const uint16_t *id, unsigned count);

/* Loads `saved` from a group of the state. Returns false if a member in that group is missing from
 * the configuration; `whom` is then the number of that member. */
bool saved_load(const struct elect_config *config, const struct state *state,
                const struct state_group *group, struct elect_saved *saved, uint16_t *whom);

/* Stores `saved` into the group from which it was loaded. The group keeps the closed terms of
 * members that are not configured. */
void saved_store(const struct elect_config *config, const struct elect_saved *saved,
                 struct state *state, struct state_group *group);

#endif
