/* What should hold of a cluster, each property with its name. */
#ifndef ELECT_MODEL_PROPERTY_H
#define ELECT_MODEL_PROPERTY_H

#include "../base/text.h"
#include "world.h"

/* "at rest": nothing is left to happen but further beginnings and faults. */
#define PROPERTY_LIST(X)                                                                           \
    X(AGREEMENT, "agreement", "at rest all live processes follow one live leader")                 \
    X(HIGHEST_WINS, "highest-wins", "at rest nobody leads but the highest live process")           \
    X(NO_STUCK, "no-stuck-participant", "at rest nobody is still holding an election")             \
    X(ONE_LEADER, "one-leader", "never do two live processes lead at the same time")               \
    X(EVENTUALLY, "eventually-leader",                                                             \
      "from every world agreement can be reached, once faults stop")                               \
    X(TERMINATION, "termination", "every election ends, once faults and beginnings stop")          \
    X(ONE_PER_TERM, "one-per-term",                                                                \
      "mandate: no term is led twice, in two offices or by two incarnations")                      \
    X(RISING_GRANTS, "rising-grants", "mandate: no voter grants a smaller term than before")       \
    X(RISING_TOKENS, "rising-tokens",                                                              \
      "mandate: every office has a larger token than those before")                                \
    X(RELEASED_LAST, "released-last", "mandate: nobody releases a term while it leads or works")   \
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

/* Does this world break the property now? Not for eventually-leader and termination, which are
 * about its future. */
bool property_broken(const struct world *w, enum property p, struct violation *v);

/* The first property that a world at rest breaks. Agreement and the highest leader are promised
 * only if nothing was lost or duplicated, no process crashed or recovered and no move was made by
 * hand. That no process is stuck is promised always. */
bool property_broken_at_rest(const struct world *w, struct violation *v);

#endif
