/* Translates between what the core remembers by rank and what the state file keeps by number. Ranks
 * change with the configuration, but numbers do not. */
#ifndef ELECT_RUNTIME_SAVED_H
#define ELECT_RUNTIME_SAVED_H

#include "elect.h"
#include "store.h"

/* Adds the other members of the configuration to the state before each start. Returns NULL, or the
 * reason why the member cannot start. The state keeps its record of a removed member while there is
 * room, to detect an earlier state of that member if it comes back. If room is needed, the records
 * of members that are in no group of the state are dropped first, then those with the lowest
 * sequence. A group is never forgotten, because its promises may be in force. */
const char *saved_begin(struct state *state, const uint16_t *id, unsigned count);

/* Returns false if the configuration lacks a member of the state; `whom` is then the number of that
 * member. */
bool saved_load(const struct elect_config *config, const struct state *state,
                const struct state_group *group, struct elect_saved *saved, uint16_t *whom);

/* Stores `saved` into the group from which it was loaded. The group keeps the closed terms of
 * members that are not configured. */
void saved_store(const struct elect_config *config, const struct elect_saved *saved,
                 struct state *state, struct state_group *group);

#endif
