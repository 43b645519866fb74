/*
 * A simulated cluster as one value that can be copied: nodes, messages in flight, timers, clocks,
 * disks and cuts. The functions below are the moves that change it. The caller picks each move: the
 * next one in time, from world_next, a step of a scenario, or a random one.
 *
 * At equal times, faults come first, then messages in the order they were sent, then timers in the
 * order they were started.
 */
#ifndef ELECT_MODEL_WORLD_H
#define ELECT_MODEL_WORLD_H

#include "claims.h"
#include "dice.h"

#define WORLD_MAX_FLIGHTS 16384 /* further messages are lost */
#define WORLD_MAX_FAULTS  512
#define WORLD_MAX_PARTS   8
#define WORLD_FOREVER     UINT64_MAX

struct weather {
    uint32_t delay_min, delay_max; /* in ticks, uniform */
    uint32_t loss, duplicate;      /* probability for each copy, out of DICE_CERTAIN */
    uint32_t garble;               /* probability that a copy is damaged */
    bool reorder;                  /* messages on a link may overtake each other */
};

enum fate {
    FATE_ARRIVES,
    FATE_LOST_ON_THE_WAY,
    FATE_LOST_IN_CUT,
    FATE_LOST_AT_THE_DEAD,
    FATE_LOST_BY_HAND,
    FATE_GARBLED /* dropped by the receiver: authentication fails */
};

struct flight {
    struct elect_message message;
    uint64_t leaves, due;
    uint32_t order; /* sequence number */
    uint8_t from, to;
    uint8_t fate; /* enum fate */
};

/* Faults, with their words in scenario files. Comments give the effect or the unit of `amount`. */
#define WORLD_FAULTS(X)                                                                            \
    X(CRASH, "crash")                                                                              \
    X(RECOVER, "recover")                                                                          \
    X(CUT, "cut")                                                                                  \
    X(HEAL, "heal")                                                                                \
    X(CALM, "calm")                                                                                \
    X(ONE_WAY, "one-way") /* the second part receives nothing from the first */                    \
    X(STALL, "pause")     /* ticks that the process stands still; its clock runs on */             \
    X(RATE, "clock")      /* error of the clock's rate, in millionths; negative: slow */           \
    X(DISK, "disk")       /* ticks that each later write takes */                                  \
    X(TICK, "tick")       /* ticks that the clock jumps forward */                                 \
    X(DUE, "due")         /* the elect_time_name that falls due, whatever the clock shows */       \
    X(HEARS, "hears")     /* counter of a term that the process learns of */                       \
    /* These faults need a mandate. */                                                             \
    X(WIN, "wins")            /* nominated, even if a higher process is up */                      \
    X(LEASE, "new-lease")     /* lease of all processes from now on, in ticks */                   \
    X(TESTAMENT, "testament") /* the process crashes and its guardian sends its death report */    \
    /* Requests from a host to its process. */                                                     \
    X(RESIGN, "resign")                                                                            \
    X(TRANSFER, "transfer") /* number of the process that should lead next */                      \
    X(ORDER, "order")       /* counter of the term to resign from */                               \
    X(ADD, "add")                                                                                  \
    X(REMOVE, "remove")                                                                            \
    X(READMIT, "readmit") /* a process that is down starts without its state */                    \
    X(PAUSE_ELECTIONS, "pause-elections")                                                          \
    X(RESUME_ELECTIONS, "resume-elections")                                                        \
    X(ASIDE, "aside") /* the process votes but does not seek office */                             \
    X(READY, "ready")                                                                              \
    /* Beyond what a mandate tolerates. */                                                         \
    X(FREEZE, "freeze")   /* ticks that the process and its clock stand still */                   \
    X(BACKUP, "backup")   /* the process's disk is copied to a backup */                           \
    X(RESTORE, "restore") /* the disk of a process that is down is replaced by its backup */       \
    X(WIPE, "wipe")       /* the disk of a process that is down is lost */                         \
    X(CLONE, "clone")                                                                              \
    X(SWAP, "swap") /* the process and its clone change places */

enum fault_kind {
#define X(name, word) FAULT_##name,
    WORLD_FAULTS(X)
#undef X
        FAULT_KINDS,
    FAULT_FIRST_MANDATE = FAULT_WIN,
    FAULT_LAST_MANDATE = FAULT_READY
};

struct fault {
    uint64_t time;
    int64_t amount;
    uint8_t kind; /* enum fault_kind */
    uint8_t rank;
    uint8_t parts;
    elect_set part[WORLD_MAX_PARTS]; /* FAULT_CUT: no message passes between parts */
};

/* Shows `base` at the time `since` and runs at `rate` from then on. */
struct clock {
    elect_time base;
    uint64_t since;
    int64_t rate; /* error in millionths; positive: fast */
};

/* A write takes `takes` ticks. If the process crashes before `done`, the disk may still hold
 * `before`. */
struct disk {
    struct elect_saved saved, before;
    uint64_t takes, done;
};

struct books {
    uint64_t sent[ELECT_EVENT_COUNT]; /* copies sent, without failed hops */
    uint64_t delivered;               /* copies that reached a live process */
    uint64_t failed_hops, acks, heartbeats;
};

struct world {
    struct elect_config config;
    struct weather weather;
    struct dice dice[DICE_KINDS];
    struct books books;
    uint64_t now;
    uint64_t changed; /* when the election state of a node last changed */
    elect_set up;
    struct disk disk[ELECT_MAX];
    struct clock clock[ELECT_MAX];
    uint64_t stopping;                 /* ticks that a leader's work runs on after its term */
    uint64_t stops[ELECT_MAX];         /* when the work stops; WORLD_FOREVER: not stopping */
    uint64_t stalled_until[ELECT_MAX]; /* no message arrives before this time */
    elect_set cut[ELECT_MAX];          /* for each sender, the receivers cut off from it */
    struct claims claims[ELECT_MAX];
    elect_term latest;               /* largest token so far */
    elect_term testament[ELECT_MAX]; /* term in each process's death report; 0: none */
    unsigned broken;                 /* set of CLAIMED_*, from all steps so far */
    /* A message was lost, a process crashed or a move was made by hand: agreement is no longer
     * promised. */
    bool disturbed;
    uint32_t order;
    struct {
        uint64_t due;
        uint32_t order;
    } timer[ELECT_MAX][ELECT_TIMER_COUNT];
    uint32_t fault_count, next_fault;
    struct fault fault[WORLD_MAX_FAULTS]; /* sorted by time */
    elect_set backed_up, cloned;
    struct elect_node node[ELECT_MAX];
    struct elect_saved backup[ELECT_MAX];
    struct {
        struct elect_node node;
        struct disk disk;
    } clone[ELECT_MAX];
    uint32_t flights, elections;             /* messages in flight; how many belong to elections */
    struct flight flight[WORLD_MAX_FLIGHTS]; /* heap, by `due`, then `order` */
};

/* The effect of a move, for narrate.c. */
enum happened { HAPPENED_STEP, HAPPENED_LOSS, HAPPENED_FAULT, HAPPENED_NOTHING };

struct happening {
    uint8_t what;             /* enum happened */
    uint8_t rank;             /* takes the step, or should have received the message */
    uint8_t fate;             /* of a lost message: enum fate */
    struct elect_input input; /* of the step, or with the lost message */
    struct elect_output output;
    struct fault fault; /* may also have caused a step: see world_fault_steps */
};

/* Starts a world with all processes up and following `leader` (a rank, or ELECT_NOBODY). */
void world_init(struct world *w, const struct elect_config *config, const struct weather *weather,
                uint64_t seed, uint8_t leader);
/* Keeps the disk, but clears the timers and the mandate. */
void world_down(struct world *w, uint8_t rank);

/* ---- moves ---- */
void world_suspect(struct world *w, uint8_t rank, struct happening *h);
/* These deliver an answer that no voter sent. world_assent() delivers an AYE (a yes) from `from`;
 * it returns false if no PREVOTE is under way or `from` does not vote. world_refuse() delivers a
 * REFUSE from the process's own voter, which has promised the term `counter` or knows that the term
 * has ended. */
bool world_assent(struct world *w, uint8_t rank, uint8_t from, struct happening *h);
void world_refuse(struct world *w, uint8_t rank, enum elect_refusal why, elect_term counter,
                  struct happening *h);
/* Delivers a message that was not in flight. */
void world_take(struct world *w, uint8_t rank, uint8_t from, const struct elect_message *m,
                struct happening *h);
/* Reports ALARM: one of the process's times has been reached. */
void world_alarm(struct world *w, uint8_t rank, struct happening *h);
/* Reports that the work started as leader has stopped. */
void world_stopped(struct world *w, uint8_t rank, struct happening *h);
void world_fire(struct world *w, uint8_t rank, enum elect_event timer, struct happening *h);
void world_deliver(struct world *w, uint32_t flight, struct happening *h);
void world_lose(struct world *w, uint32_t flight, struct happening *h);
void world_duplicate(struct world *w, uint32_t flight);
void world_delay(struct world *w, uint32_t flight, uint64_t until);
void world_inject(struct world *w, const struct flight *f); /* sends a copy of `f` now */
void world_fault(struct world *w, const struct fault *fault, struct happening *h);
const char *world_fault_name(enum fault_kind kind);
/* Returns true if the fault also makes a process take a step. */
bool world_fault_steps(const struct fault *fault);

/* Makes the next move in order of time. Returns false if there is none up to `until`. */
bool world_next(struct world *w, uint64_t until, struct happening *h);
void world_schedule(struct world *w, const struct fault *fault);

/* Returns the oldest message of this type on the link; WORLD_MAX_FLIGHTS if none. */
uint32_t world_find(const struct world *w, uint8_t from, uint8_t to, enum elect_event type);

bool world_up(const struct world *w, uint8_t rank);
elect_time world_clock(const struct world *w, uint8_t rank);
void world_set_clock(struct world *w, uint8_t rank, elect_time says, int64_t rate);
bool world_leads(const struct world *w, uint8_t rank);
/* Returns true while the mandate of the process forbids any other process to lead. */
bool world_in_office(const struct world *w, uint8_t rank);
/* Returns ELECT_NOBODY during an election. */
uint8_t world_follows(const struct world *w, uint8_t rank);
bool world_timer_runs(const struct world *w, uint8_t rank, enum elect_event timer);
/* Returns true if the disk is empty: the process lost its state and was not readmitted. */
bool world_forgot(const struct world *w, uint8_t rank);
uint8_t world_in_charge(const struct world *w); /* the process in office, or ELECT_NOBODY */
/* Returns the live leader that all live processes follow, or ELECT_NOBODY. */
uint8_t world_leader(const struct world *w);
/* Returns true if each part of the cluster has one leader and no election is under way. */
bool world_settled(const struct world *w);
/* Ignores the time and `books`. */
bool world_same(const struct world *a, const struct world *b);
bool world_at_rest(const struct world *w);   /* no message, timer or fault is left */
uint64_t world_total(const struct world *w); /* messages sent by elections */
/* Returns the live processes that messages from this one can reach, itself included. */
elect_set world_reach(const struct world *w, uint8_t rank);

#endif
