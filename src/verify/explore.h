/* Every possible history of a small cluster, breadth first: the shortest bad one comes first. */
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
    /* Now and then, may be NULL. `total` is 0 until all worlds are found and are being judged. */
    void (*progress)(uint64_t worlds, uint64_t total, unsigned depth);
};

struct finding {
    bool violated;
    unsigned depth; /* how many moves the shortest violation takes */
};

struct outcome_of_exploration {
    uint64_t states, transitions, steps; /* steps: how often the real code ran */
    unsigned depth;
    enum bound bound;
    bool exhausted;
    bool full; /* the bound was a mailbox, or the numbers of a table */
    struct finding finding[PROPERTY_COUNT];
    size_t bytes; /* all that the exploration held */
    double seconds;
    enum property worst; /* the property of the path, if any is violated */
    unsigned moves;
    unsigned after;    /* how many of them follow the bad world, to show what is wrong with it */
    unsigned loop;     /* how many of them, at the end, can be repeated for ever */
    struct move *move; /* the shortest bad history */
    struct row *row;   /* and its worlds: moves + 1 of them */
};

/* False if there is not even memory to begin. The space stays, for whoever tells the story. */
bool explore_all(const struct exploration *e, struct space *space,
                 struct outcome_of_exploration *out);
bool explore_violated(const struct outcome_of_exploration *out);
void explore_free(struct space *space, struct outcome_of_exploration *out);

#endif
