/*
 * Declarations that only the files of the world share. world.c performs the steps, flights.c
 * carries the messages, faults.c injects faults, time.c chooses the next move, and query.c answers
 * queries.
 */
#ifndef ELECT_MODEL_WORLD_INTERNAL_H
#define ELECT_MODEL_WORLD_INTERNAL_H

#include "../words/words.h"
#include "world.h"

static inline elect_set rank_bit(uint8_t rank) { return (elect_set)1 << rank; }

/* Returns true for messages that belong to an election. Acknowledgements, heartbeats and the
 * messages of a mandate do not belong to an election. */
static inline bool is_of_election(unsigned type)
{
    return type != ELECT_ACK && type != ELECT_HEARTBEAT && !words_of_mandate(type);
}

/* ---- world.c ---- */

/* Makes the process take a step on this input, and carries out the output of the step. */
void world_step(struct world *w, uint8_t rank, const struct elect_input *in, struct happening *h);
/* Carries out the output of a step: writes the state, sends the messages and starts the timers. */
void world_perform(struct world *w, uint8_t rank, const struct elect_output *out);
/* Starts the process with the state that is on its disk. */
void world_restart(struct world *w, uint8_t rank, uint8_t leader);

/* ---- flights.c ---- */

/* Sends a copy of the message to each receiver, in the order of their ranks. */
void flights_send(struct world *w, uint8_t from, const struct elect_send *s);
/* Removes the messages that have not left this process yet. */
void flights_drop_unsent(struct world *w, uint8_t from);
/* Delays all messages to the process so that none arrives before `until`. */
void flights_hold(struct world *w, uint8_t rank, uint64_t until);

#endif
