/*
 * A trouble is one kind of fault that recurs for days in a cluster whose leader also crashes now
 * and then. The report shows how often the leader changes and how long there is none, with and
 * without the rules of presence.c, which keep such faults from disturbing a leader.
 */
#ifndef ELECT_SIM_TROUBLE_H
#define ELECT_SIM_TROUBLE_H

#include "../model/world.h"

/* Name, title and meaning. "The highest" is the process that the bully elects. */
#define TROUBLE_LIST(X)                                                                            \
    X(FLAPPING, "flapping preemption",                                                             \
      "the highest process crashes, recovers and preempts the leader")                             \
    X(RESTARTS, "restarts every second", "the highest process restarts once in every lease")       \
    X(CUT_OFF, "cut off from the majority", "the highest process reaches only the second highest") \
    X(CHAIN, "chain", "no message passes between the highest and the lowest process")              \
    X(ONE_WAY, "one-way links", "messages of a random process do not reach some of the others")    \
    X(SLOW_DISK, "slow disk", "a write of the highest process takes longer than a candidacy may")  \
    X(HUGE_TERM, "isolated, with a huge term",                                                     \
      "an isolated process returns with a term that is far ahead")

enum trouble {
#define X(name, word, text) TROUBLE_##name,
    TROUBLE_LIST(X)
#undef X
        TROUBLE_COUNT
};

struct trouble_report {
    uint64_t time, changes, leaderless; /* `leaderless`: ticks without a leader */
};

const char *trouble_name(enum trouble t);
const char *trouble_text(enum trouble t);

void trouble_run(const struct elect_config *c, enum trouble trouble, uint64_t seed, uint64_t ticks,
                 struct world *w, struct trouble_report *report);

#endif
