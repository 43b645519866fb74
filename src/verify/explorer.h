/* The search, shared by the files that make it: explore.c finds the worlds, whole.c judges them
 * all. */
#ifndef ELECT_EXPLORER_H
#define ELECT_EXPLORER_H

#include "explore.h"

#include <stdatomic.h>

struct shape {
    unsigned n, width; /* bytes for a number: 2, later 4 */
    bool budget;       /* there is one, so it is part of a world */
};

/* ---- where worlds are kept: a thread keeps those whose hash is its own ---- */

struct store {
    unsigned char *rows;
    uint32_t *parent; /* the number of the world that this one was reached from first */
    uint64_t *slot;   /* upper half of the hash, index + 1 */
    uint32_t count, room, slots;
};

/* Successors on their way to the thread that keeps them: hash, parent, wide row. */
struct outbox {
    unsigned char *bytes;
    size_t used, room;
};

struct explorer;

/* What a thread writes all the time must not share a cache line with what the others read. */
#define APART _Alignas(128)

struct worker {
    APART struct explorer *all;
    unsigned me;
    pthread_t thread;
    struct memory memory;
    struct store store;
    struct outbox outbox[EXPLORE_MAX_THREADS];
    uint32_t next, level_end; /* in the store */
    uint32_t *level;          /* where each level begins in it */
    uint32_t parent;          /* of what is being expanded */
    uint64_t transitions;
};

struct explorer {
    const struct exploration *asked;
    struct outcome_of_exploration *out;
    struct space *space;
    struct shape shape;
    unsigned threads;
    struct worker worker[EXPLORE_MAX_THREADS];
    APART pthread_barrier_t barrier;
    pthread_mutex_t gate; /* closed until all threads are there */
    pthread_mutex_t lock; /* around `out->finding` and `bad` */
    uint32_t bad[PROPERTY_COUNT];
    atomic_size_t bytes;
    atomic_int bound;
    bool done;
    unsigned depth, levels, level_room;
};

struct sight {
    unsigned leaders, electing;
    uint8_t highest; /* of the live */
    bool agreed, highest_leads;
};

/* A world by its number. */
uint32_t explorer_number(const struct explorer *x, unsigned keeper, uint32_t index);
void explorer_row(const struct explorer *x, uint32_t world, struct row *row);
bool explorer_locate(const struct explorer *x, const struct row *row, uint32_t *world);
unsigned explorer_depth(const struct explorer *x, uint32_t world); /* moves from the first one */
struct sight explorer_look(const struct space *s, const struct row *row);

bool explorer_interrupted(const struct explorer *x);

/* When every world is known: eventually-leader and termination. False, with a bound, if it could
 * not be said. */
bool judge_whole(struct explorer *x);

#endif
