/*
 * Shared by the files that implement world.h: world.c (steps), flights.c (messages), faults.c
 * (faults), time.c (the next move) and query.c (queries).
 */
#ifndef ELECT_MODEL_WORLD_INTERNAL_H
#define ELECT_MODEL_WORLD_INTERNAL_H

#include "../words/words.h"
#include "world.h"

static inline elect_set rank_bit(uint8_t rank) { return (elect_set)1 << rank; }

/* Acknowledgements, heartbeats and mandate messages do not belong to an election. */
static inline bool is_of_election(unsigned type)
{
    return type != ELECT_ACK && type != ELECT_HEARTBEAT && !words_of_mandate(type);
}

/* ---- world.c ---- */

void world_step(struct world *w, uint8_t rank, const struct elect_input *in, struct happening *h);
/* Writes the state, sends the messages and starts the timers. */
void world_perform(struct world *w, uint8_t rank, const struct elect_output *out);
void world_restart(struct world *w, uint8_t rank, uint8_t leader);

/* ---- flights.c ---- */

/* Sends a copy to each receiver, in rank order. */
void flights_send(struct world *w, uint8_t from, const struct elect_send *s);
void flights_drop_unsent(struct world *w, uint8_t from);
/* Delays messages to the process so that none arrives before `until`. */
void flights_hold(struct world *w, uint8_t rank, uint64_t until);

#endif
