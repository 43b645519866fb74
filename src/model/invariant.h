/* What must never be seen in a world, each with its name. */
#ifndef ELECT_INVARIANT_H
#define ELECT_INVARIANT_H

#include "text.h"
#include "world.h"

/* "undisturbed": nothing was lost or duplicated, nobody crashed or recovered, no hand interfered.
 */
#define INVARIANTS(X)                                                                              \
    X(HIGHEST_WINS, "highest-wins",                                                                \
      "undisturbed and at rest, only the highest live process leads")                              \
    X(AGREEMENT, "agreement", "undisturbed and at rest, all live processes follow one leader")     \
    X(NO_STUCK_PARTICIPANT, "no-stuck-participant", "at rest nobody is still holding an election")

enum invariant {
#define X(name, word, text) name,
    INVARIANTS(X)
#undef X
        INVARIANT_COUNT
};

struct violation {
    enum invariant invariant;
    uint64_t time;
    char text[128];
};

const char *invariant_name(enum invariant invariant);

/* The first invariant that does not hold in a world where nothing is left to happen, or false. */
bool invariant_broken(const struct world *w, struct violation *v);

#endif
