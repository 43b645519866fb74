/* Translates between the core's data, indexed by rank, and the state file, which uses member ids.
 * Ranks change with the configuration, ids do not. */
#ifndef ELECT_RUNTIME_SAVED_H
#define ELECT_RUNTIME_SAVED_H

#include "elect.h"
#include "store.h"

/* Adds the other configured members to the state before a start. Returns NULL, or the reason why
 * the member cannot start. Removed members are kept while there is room, to detect an old state if
 * they come back. Members in no group are dropped before others, and lower sequence numbers before
 * higher ones. A group is never dropped, because its promises may be in force. */
const char *saved_begin(struct state *state, const uint16_t *id, unsigned count);

/* Loads `saved` from a group of the state. Returns false if a member of that group is not
 * configured; `whom` is then its id. */
bool saved_load(const struct elect_config *config, const struct state *state,
                const struct state_group *group, struct elect_saved *saved, uint16_t *whom);

/* Stores `saved` in its group, which keeps the closed terms of members that are not configured. */
void saved_store(const struct elect_config *config, const struct elect_saved *saved,
                 struct state *state, struct state_group *group);

#endif
