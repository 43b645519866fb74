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
    uint32_t properties; /* set of 1 << property */
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
    unsigned depth; /* how many moves lead to the violation that needs the fewest */
};

struct outcome_of_exploration {
    uint64_t states, transitions, steps; /* steps: how often elect_step ran */
    unsigned depth;
    enum bound bound;
    bool exhausted;
    bool full; /* a mailbox or a table outgrew its limit */
    struct finding finding[PROPERTY_COUNT];
    size_t bytes; /* all memory of the exploration */
    double seconds;
    enum property worst; /* the property that the history violates, if any */
    unsigned moves;
    unsigned after;    /* the number of moves after the bad world that show the violation */
    unsigned loop;     /* the number of moves at the end that can repeat forever */
    struct move *move; /* the shortest bad history */
    struct row *row;   /* the worlds of that history, one more than its moves */
};

/* Returns false if there is not enough memory to begin. `space` remains valid for the caller, which
 * may write the counterexample. */
bool explore_all(const struct exploration *e, struct space *space,
                 struct outcome_of_exploration *out);
bool explore_violated(const struct outcome_of_exploration *out);
void explore_free(struct space *space, struct outcome_of_exploration *out);

#endif
