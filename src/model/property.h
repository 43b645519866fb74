/* The properties that a cluster should have, with their names and texts. */
#ifndef ELECT_MODEL_PROPERTY_H
#define ELECT_MODEL_PROPERTY_H

#include "../base/text.h"
#include "world.h"

/* "At rest" means that nothing is left to happen except new elections and faults. */
#define PROPERTY_LIST(X)                                                                           \
    X(AGREEMENT, "agreement", "at rest all live processes follow one live leader")                 \
    X(HIGHEST_WINS, "highest-wins", "at rest no process leads except the highest live process")    \
    X(NO_STUCK, "no-stuck-participant", "at rest no process is still holding an election")         \
    X(ONE_LEADER, "one-leader", "two live processes never lead at the same time")                  \
    X(EVENTUALLY, "eventually-leader",                                                             \
      "agreement can be reached from every state, once faults stop")                               \
    X(TERMINATION, "termination", "every election ends, once faults and new elections stop")       \
    X(ONE_PER_TERM, "one-per-term",                                                                \
      "mandate: no term has two leaders, two offices or two incarnations of its leader")           \
    X(RISING_GRANTS, "rising-grants", "mandate: no voter grants a smaller term than before")       \
    X(RISING_TOKENS, "rising-tokens",                                                              \
      "mandate: every office has a larger token than all offices before it")                       \
    X(RELEASED_LAST, "released-last",                                                              \
      "mandate: no process releases a term while it leads or its work goes on")                    \
    X(ORDERED_ONCE, "ordered-once",                                                                \
      "mandate: an order is carried out at most once, and only in the term that it names")

enum property {
#define X(name, word, text) PROPERTY_##name,
    PROPERTY_LIST(X)
#undef X
        PROPERTY_COUNT
};

struct violation {
    enum property property;
    uint64_t time;
    char text[128];
};

const char *property_name(enum property p);
const char *property_text(enum property p);

/* Tests the present world. Always false for eventually-leader and termination, which concern the
 * future. */
bool property_broken(const struct world *w, enum property p, struct violation *v);

/* Finds the first property that a world at rest breaks. Without a mandate, no-stuck-participant
 * must always hold; agreement and highest-wins only if no message was lost or duplicated, no
 * process crashed or recovered, and no move was made by hand. */
bool property_broken_at_rest(const struct world *w, struct violation *v);

#endif
