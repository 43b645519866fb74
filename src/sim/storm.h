/*
 * Storms in a cluster with a mandate: phases of random faults alternate with calm phases. The seed
 * decides which faults occur and how often (swarm testing). The promises are checked after every
 * step, and in each calm phase a leader must take office within a bound.
 */
#ifndef ELECT_SIM_STORM_H
#define ELECT_SIM_STORM_H

#include "../model/play.h"
#include "../model/setup.h"

/* Recoveries and heals are not faults, but are counted like them. */
#define STORM_FAULTS(X)                                                                            \
    X(CRASH, "crash")                                                                              \
    X(RECOVERY, "recovery")                                                                        \
    X(CUT, "cut")                                                                                  \
    X(ONE_WAY, "one-way cut")                                                                      \
    X(HEAL, "heal")                                                                                \
    X(STALL, "pause")                                                                              \
    X(RATE, "clock rate")                                                                          \
    X(DISK, "slow disk")                                                                           \
    X(WEATHER, "loss and delay")                                                                   \
    X(LEASE, "another lease")                                                                      \
    X(REPLAY, "replay")                                                                            \
    X(GARBLE, "garbled messages")                                                                  \
    X(TESTAMENT, "testament")                                                                      \
    X(RESIGN, "hand-over")                                                                         \
    X(ORDER, "late order")                                                                         \
    X(PAUSE_ELECTIONS, "elections paused")                                                         \
    X(ASIDE, "member aside")                                                                       \
    X(MEMBERS, "change of members")                                                                \
    X(READMIT, "readmission")                                                                      \
    X(FREEZE, "frozen clock")                                                                      \
    X(SKEW, "clock beyond the bound")                                                              \
    X(JUMP, "clock that jumps")                                                                    \
    X(BACKUP, "copied disk")                                                                       \
    X(ROLLBACK, "rolled-back disk")                                                                \
    X(WIPE, "lost disk")                                                                           \
    X(CLONE, "clone")                                                                              \
    X(SWAP, "clone in its place")

enum storm_fault {
#define X(name, word) STORM_##name,
    STORM_FAULTS(X)
#undef X
        STORM_FAULT_COUNT
};

/* Faults beyond what a mandate assumes, and the promises that still hold. */
enum storm_beyond {
    STORM_WITHIN,
    /* Clocks exceed their bound, freeze or jump: P1, P4 and P5 hold, and P2 except for the order of
     * tokens. */
    STORM_CLOCKS,
    STORM_DISKS, /* disks are rolled back, wiped or cloned: only P4 holds */
    STORM_BEYONDS
};
extern const char *const storm_beyond_words[STORM_BEYONDS];

/* The promises of docs/guarantees.md, with the text for a violation. */
#define STORM_PROMISES(X)                                                                          \
    X(P1, "P1", "two leaders in one term")                                                         \
    X(P2, "P2", "a token that is not larger than the one before")                                  \
    X(P3, "P3", "two mandates at the same time, or one released too early")                        \
    X(P4, "P4", "no leader in time after the storm, or one that does not last")                    \
    X(P5, "P5", "an order carried out twice, or in a term that it does not name")

enum storm_promise {
#define X(name, word, text) STORM_##name,
    STORM_PROMISES(X)
#undef X
        STORM_PROMISE_COUNT
};

struct storm_violation {
    enum storm_promise promise;
    uint64_t seed, time;
    uint8_t who, whom;
};

#define STORM_MAX_VIOLATIONS 16

struct storm_report {
    uint64_t time, events, storms, offices;
    uint64_t slowest; /* longest wait for a leader in a calm phase */
    uint64_t fault[STORM_FAULT_COUNT];
    unsigned violations;
    struct storm_violation violation[STORM_MAX_VIOLATIONS];
    /* Violations that are expected under these faults. */
    uint64_t lost[STORM_PROMISE_COUNT];
};

const char *storm_fault_name(enum storm_fault f);
bool storm_promises(enum storm_promise promise, const struct elect_config *c,
                    enum storm_beyond beyond);
const char *storm_promise_name(enum storm_promise p);
const char *storm_promise_text(enum storm_promise p);

/* Runs storms for this many ticks and adds the results to the report. `play` may have a
 * listener. */
void storm_run(const struct elect_config *c, enum storm_beyond beyond, uint64_t seed,
               uint64_t ticks, struct play *play, const volatile int *interrupted,
               struct storm_report *report);

/* Longest time from the end of all faults until a leader is in office. */
uint64_t storm_bound(const struct elect_config *c);

#endif
