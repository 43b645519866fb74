/* Explores all histories of a small cluster, breadth first, so that the first violation found has
 * the shortest history. */
#ifndef ELECT_VERIFY_EXPLORE_H
#define ELECT_VERIFY_EXPLORE_H

#include "../model/property.h"
#include "space.h"

#define EXPLORE_MAX_THREADS 8

enum bound { BOUND_NONE, BOUND_STATES, BOUND_MEMORY, BOUND_INTERRUPTED };

struct exploration {
    struct question question;
    uint32_t properties; /* set of 1 << property */
    uint64_t max_states;
    size_t max_memory;
    unsigned threads;
    const volatile int *interrupted;
    /* Called from time to time; may be NULL. `total` is 0 until all worlds have been found and are
     * being judged. */
    void (*progress)(uint64_t worlds, uint64_t total, unsigned depth);
};

struct finding {
    bool violated;
    unsigned depth; /* moves in the shortest history of a violation */
};

struct outcome_of_exploration {
    uint64_t states, transitions, steps; /* `steps`: calls of elect_step */
    unsigned depth;
    enum bound bound;
    bool exhausted;
    bool full; /* a mailbox or a table outgrew its limit */
    struct finding finding[PROPERTY_COUNT];
    size_t bytes;
    double seconds;
    enum property worst;
    unsigned moves;
    unsigned after; /* moves after the bad world that show the violation */
    unsigned loop;  /* last moves that can repeat forever */
    struct move *move;
    struct row *row; /* the worlds of the history: `moves` + 1 */
};

/* Returns false if there is not enough memory to start. `space` stays valid for the
 * counterexample. */
bool explore_all(const struct exploration *e, struct space *space,
                 struct outcome_of_exploration *out);
bool explore_violated(const struct outcome_of_exploration *out);
void explore_free(struct space *space, struct outcome_of_exploration *out);

#endif
