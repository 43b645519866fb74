/*
 * Troubles that clusters have for days: each is one kind of fault, again and again, over a cluster
 * whose leader crashes now and then. How often does the leader change, and how long does nobody
 * lead, with the rules of presence.c and without?
 */
#ifndef ELECT_SIM_TROUBLE_H
#define ELECT_SIM_TROUBLE_H

#include "../model/world.h"

/* name, the word for it, what it is; who is meant is the highest, whom the bully would have lead */
#define TROUBLE_LIST(X)                                                                            \
    X(FLAPPING, "flapping preemption", "the highest comes and goes, and may preempt")              \
    X(RESTARTS, "restarts every second", "the highest crashes every second, and comes back")       \
    X(CUT_OFF, "cut off from the majority", "the highest reaches the second, and nobody else")     \
    X(CHAIN, "chain", "the highest and the lowest cannot talk to each other")                      \
    X(ONE_WAY, "one-way links", "now this one, now that one is not heard by some")                 \
    X(SLOW_DISK, "slow disk", "a write takes the highest longer than a candidate has")             \
    X(HUGE_TERM, "isolated, with a huge term", "one is alone for a while, and counts on")

enum trouble {
#define X(name, word, text) TROUBLE_##name,
    TROUBLE_LIST(X)
#undef X
        TROUBLE_COUNT
};

struct trouble_report {
    uint64_t time, changes, leaderless; /* changes of who leads; ticks without anybody */
};

const char *trouble_name(enum trouble t);
const char *trouble_text(enum trouble t);

void trouble_run(const struct elect_config *c, enum trouble trouble, uint64_t seed, uint64_t ticks,
                 struct world *w, struct trouble_report *report);

#endif
