/*
 * The settings of a world. Scenario files and the options of `elect sim` share their words, meaning
 * and checks.
 */
#ifndef ELECT_MODEL_SETUP_H
#define ELECT_MODEL_SETUP_H

#include "../base/choice.h"
#include "numbers.h"
#include "world.h"

#define SETUP_MAX_TEXT  512
#define SETUP_MAX_DELAY 1000000
#define SETUP_MAX_TIME  10000000
#define SETUP_MAX_COUNT 16000000 /* processes; at most ELECT_MAX in a world */

/* Key, form of the value, and meaning. A switch has no form. */
#define SETUP_SETTINGS(X)                                                                          \
    X(ALGORITHM, "algorithm", "NAME",                                                              \
      "bully, ring, active-ring or chang-roberts (default: bully)")                                \
    X(PROCESSES, "processes", "LIST",                                                              \
      "processes in the order of the ring, such as 0..7 or 3,32,5; 8 means 0..7")                  \
    X(DOWN, "down", "LIST", "processes that crashed before the start")                             \
    X(LEADER, "leader", "ID|none",                                                                 \
      "process that all processes follow at first (default: the highest if it is down, else "      \
      "none)")                                                                                     \
    X(FORM, "form", "circulate|multicast",                                                         \
      "ring: how the leader is announced (default: circulate)")                                    \
    X(ANNOUNCE, "announce", "lower|all",                                                           \
      "bully: processes to which the winner is announced (default: lower)")                        \
    X(TELL_LOWER, "tell-lower", NULL,                                                              \
      "bully: a process that starts an election notifies the lower processes, which then start "   \
      "none")                                                                                      \
    X(DELAY, "delay", "N|MIN..MAX", "ticks that a message takes (default: 1)")                     \
    X(PROCESSING, "processing", "N", "T_p, the bound on processing, in ticks (default: 0)")        \
    X(DETECTOR, "detector", "on|off",                                                              \
      "whether processes watch the heartbeats of their leader (default: on with loss, "            \
      "crash-rate, or runs with faults)")                                                          \
    X(ACKS, "acks", "on|off",                                                                      \
      "rings: whether hops are acknowledged; off allows no faults (default: on)")                  \
    X(MANDATE, "mandate", "none|majority",                                                         \
      "whether a majority must confirm a leader, for a lease (default: none)")                     \
    X(LEASE, "lease", "N", "ticks that a grant lasts (default: 30 T)")                             \
    X(RENEWAL, "renewal", "N",                                                                     \
      "ticks between two rounds of a leader (default: a fifth of the lease)")                      \
    X(DRIFT, "drift", "P", "largest error of a clock's rate (default: 0.01)")                      \
    X(WITNESSES, "witnesses", "LIST", "processes that vote but never lead")                        \
    X(OBSERVERS, "observers", "LIST", "processes that neither vote nor lead")                      \
    X(PRIORITY, "priority", "ID:P,...",                                                            \
      "priorities of processes, which count more than their numbers (default: 0)")                 \
    X(PREEMPT, "preempt", "no|yes|N",                                                              \
      "whether a process that outranks its leader replaces it: never (default), immediately, or "  \
      "after N ticks")                                                                             \
    X(DECAY, "decay", "N", "ticks after which the penalty of a process is halved")                 \
    X(STOPPING, "stopping", "N", "ticks that the work of an office takes to stop (default: 0)")    \
    X(STABILITY, "stability", "on|off",                                                            \
      "off: let processes hold elections without looking for a leader first (default: on)")        \
    X(SEED, "seed", "N", "seed of the random numbers (default: 1)")                                \
    X(LOSS, "loss", "P", "a message is lost with probability P")                                   \
    X(DUPLICATE, "duplicate", "P", "a message arrives twice with probability P")                   \
    X(CALM, "calm", "TIME", "from TIME on no message is lost or duplicated")                       \
    X(REORDER, "reorder", NULL, "messages from one process to another may overtake each other")    \
    X(SHUFFLE, "shuffle", NULL, "the order of the ring is random")

enum setting {
#define X(name, key, value, text) SETTING_##name,
    SETUP_SETTINGS(X)
#undef X
        SETTING_COUNT
};

struct setup {
    struct numbers processes, down, witnesses, observers;
    struct {
        uint32_t id;
        uint8_t priority;
    } priority[ELECT_MAX];
    unsigned priorities;
    bool preempt, unstable, tell_lower;
    uint64_t preempt_after, decay, stopping;
    uint8_t algorithm, form, announce, mandate;
    int8_t detector; /* 1: on; 0: off; -1: on only if faults are possible */
    bool shuffle, random_faults, reliable;
    uint32_t given; /* set of 1 << setting */
    int64_t leader; /* id of the first leader; -1: none */
    uint32_t processing;
    uint64_t lease, renewal; /* 0: derived from the round-trip time T */
    uint32_t drift;          /* fraction of DICE_CERTAIN */
    uint64_t seed, calm;
    struct weather weather;
};

void setup_init(struct setup *s);

bool setup_set(struct setup *s, enum setting setting, const char *value, struct text *complaint);
bool setup_check(const struct setup *s, struct text *complaint);
/* Fails for more than ELECT_MAX processes, the limit of a world. `seed` sets the order of a
 * shuffled ring. */
bool setup_config(const struct setup *s, uint64_t seed, struct elect_config *c,
                  struct text *complaint);
/* Returns false if there is no initial leader. `top` is the number of the highest process. */
bool setup_first_leader(const struct setup *s, uint32_t top, uint32_t *leader);
void setup_world(const struct setup *s, const struct elect_config *c, uint64_t seed,
                 struct world *w);

/* Forms of a fault, by example. */
enum setup_form {
    SETUP_PROCESS,  /* crash 3, and most other faults */
    SETUP_NOTHING,  /* heal */
    SETUP_AMOUNT,   /* pause 3 100 */
    SETUP_TRANSFER, /* transfer 3 4 */
    SETUP_PARTS,    /* cut 0 1 / 2 3 */
    SETUP_LEASE,    /* new-lease 100 */
    SETUP_COUNTER,  /* hears 3 7 */
    SETUP_TIME      /* due 3 lease */
};
enum setup_form setup_fault_form(enum fault_kind kind);

/* Parses the arguments of a fault, such as "3" or "0,1,2/3,4", and the time after `separator`, if
 * any. */
bool setup_fault(const struct elect_config *c, enum fault_kind kind, const char *text,
                 const char *separator, struct fault *fault, bool *timed, struct text *complaint);
/* Returns true if the fault is possible: only a live process can crash, only a process that is down
 * can recover, and the fault list must have room. */
bool setup_sensible(const struct world *w, const struct fault *fault, struct text *complaint);

bool setup_probability(const char *value, uint32_t *parts, struct text *complaint);

const char *setup_key(enum setting setting);

#endif
