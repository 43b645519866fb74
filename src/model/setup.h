/*
 * The settings with which a world begins. Scenario files and the options of `elect sim` use the
 * same settings, with the same words, the same meaning and the same checks.
 */
#ifndef ELECT_MODEL_SETUP_H
#define ELECT_MODEL_SETUP_H

#include "../base/choice.h"
#include "numbers.h"
#include "world.h"

#define SETUP_MAX_TEXT  512
#define SETUP_MAX_DELAY 1000000
#define SETUP_MAX_TIME  10000000
#define SETUP_MAX_COUNT 16000000 /* the maximum number of processes (ELECT_MAX in a world) */

/* For each setting: its key, the form of its value, and its meaning. A setting without a form is a
 * switch. */
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
    uint32_t given; /* the settings that were given: a set of 1 << setting */
    int64_t leader; /* the id of the first leader; -1: no leader */
    uint32_t processing;
    uint64_t lease, renewal; /* 0: computed from the round-trip time T */
    uint32_t drift;          /* the drift, as a fraction of DICE_CERTAIN */
    uint64_t seed, calm;
    struct weather weather;
};

void setup_init(struct setup *s);

/* Each of these functions returns false with a complaint that tells the user what to do. */
bool setup_set(struct setup *s, enum setting setting, const char *value, struct text *complaint);
/* Checks that the settings are consistent with each other, for a world or for the lab. */
bool setup_check(const struct setup *s, struct text *complaint);
/* Creates the configuration of a cluster of at most ELECT_MAX processes, which is the limit for a
 * world. `seed` determines the order of a shuffled ring. */
bool setup_config(const struct setup *s, uint64_t seed, struct elect_config *c,
                  struct text *complaint);
/* Finds the leader that all processes follow at first. Returns false if there is no such leader.
 * `top` is the number of the highest process. */
bool setup_first_leader(const struct setup *s, uint32_t top, uint32_t *leader);
void setup_world(const struct setup *s, const struct elect_config *c, uint64_t seed,
                 struct world *w);

/* The arguments of a fault, with an example for each form. */
enum setup_form {
    SETUP_PROCESS,  /* as in: crash 3 (most faults have this form) */
    SETUP_NOTHING,  /* as in: heal */
    SETUP_AMOUNT,   /* as in: pause 3 100 */
    SETUP_TRANSFER, /* as in: transfer 3 4 */
    SETUP_PARTS,    /* as in: cut 0 1 / 2 3 */
    SETUP_LEASE,    /* as in: new-lease 100 */
    SETUP_COUNTER,  /* as in: hears 3 7 */
    SETUP_TIME      /* as in: due 3 lease */
};
enum setup_form setup_fault_form(enum fault_kind kind);

/* Parses the arguments of a fault, such as "3" or "0,1,2/3,4", and its time if the text contains
 * the separator. */
bool setup_fault(const struct elect_config *c, enum fault_kind kind, const char *text,
                 const char *separator, struct fault *fault, bool *timed, struct text *complaint);
/* Returns true if the fault is possible. A process can crash only if it is up at that time, and
 * recover only if it is down, and the list of faults must have room for one more. */
bool setup_sensible(const struct world *w, const struct fault *fault, struct text *complaint);

bool setup_probability(const char *value, uint32_t *parts, struct text *complaint);

const char *setup_key(enum setting setting);

#endif
