/*
 * What the files of the world share with each other and with no other room: world.c performs the
 * steps, flights.c carries the messages, faults.c makes faults happen, time.c picks the next move,
 * query.c answers questions.
 */
#ifndef ELECT_MODEL_WORLD_INTERNAL_H
#define ELECT_MODEL_WORLD_INTERNAL_H

#include "../words/words.h"
#include "world.h"

static inline elect_set rank_bit(uint8_t rank) { return (elect_set)1 << rank; }

/* Is this a message of the election itself? Acknowledgements, heartbeats and messages of the
 * mandate are not. */
static inline bool is_of_election(unsigned type)
{
    return type != ELECT_ACK && type != ELECT_HEARTBEAT && !words_of_mandate(type);
}

/* ---- world.c ---- */

/* A step of the process, and the performance of its output. */
void world_step(struct world *w, uint8_t rank, const struct elect_input *in, struct happening *h);
/* Writes, sends and starts timers as the output demands. */
void world_perform(struct world *w, uint8_t rank, const struct elect_output *out);
/* The process starts with what is on its disk. */
void world_restart(struct world *w, uint8_t rank, uint8_t leader);

/* ---- flights.c ---- */

/* A copy of the message for each receiver, in the order of their ranks. */
void flights_send(struct world *w, uint8_t from, const struct elect_send *s);
/* Removes the messages of this process that have not left it yet. */
void flights_drop_unsent(struct world *w, uint8_t from);
/* Nothing reaches the process before that time. */
void flights_hold(struct world *w, uint8_t rank, uint64_t until);

#endif
