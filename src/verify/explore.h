/* Explores every possible history of a small cluster. The search is breadth first, so the first bad
 * history that it finds is also the shortest. */
#ifndef ELECT_VERIFY_EXPLORE_H
#define ELECT_VERIFY_EXPLORE_H

#include "../model/property.h"
#include "space.h"

#define EXPLORE_MAX_THREADS 8

enum bound { BOUND_NONE, BOUND_STATES, BOUND_MEMORY, BOUND_INTERRUPTED };

struct exploration {
    struct question question;
    uint32_t properties; /* the properties to check: a set of 1 << property */
    uint64_t max_states;
    size_t max_memory;
    unsigned threads;
    const volatile int *interrupted;
    /* Called from time to time to report the progress; may be NULL. `total` is 0 until the search
     * has found all worlds and begins to judge them. */
    void (*progress)(uint64_t worlds, uint64_t total, unsigned depth);
};

struct finding {
    bool violated;
    unsigned depth; /* the number of moves in the shortest history to a violation */
};

struct outcome_of_exploration {
    uint64_t states, transitions, steps; /* steps: the number of calls of elect_step */
    unsigned depth;
    enum bound bound;
    bool exhausted;
    bool full; /* a mailbox or a table outgrew its limit */
    struct finding finding[PROPERTY_COUNT];
    size_t bytes; /* the memory used by the whole search, in bytes */
    double seconds;
    enum property worst; /* the property that the history violates, if any */
    unsigned moves;
    unsigned after;    /* how many moves follow the bad world to show the violation */
    unsigned loop;     /* how many moves at the end of the history can repeat forever */
    struct move *move; /* the shortest bad history */
    struct row *row;   /* the worlds of that history: one more than the number of moves */
};

/* Returns false if there is not enough memory to begin. `space` stays valid, so that the caller can
 * write the counterexample. */
bool explore_all(const struct exploration *e, struct space *space,
                 struct outcome_of_exploration *out);
bool explore_violated(const struct outcome_of_exploration *out);
void explore_free(struct space *space, struct outcome_of_exploration *out);

#endif
